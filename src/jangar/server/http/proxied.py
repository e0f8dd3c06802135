"""Callers whom a trusted proxy names after they have signed in elsewhere (OIDC), with their own rights.

The proxy proves itself by a secret; who merely writes its headers is nobody. The control plane needs the right to
impersonate, and lends none of its other rights.
"""

import hmac
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from jangar.server.http.identity import ANONYMOUS, CALLERS, MANAGER, Caller, Reviewed, Unknown
from kubekit.client.api_client import Client
from kubekit.client.connection import Impersonated
from kubekit.client.transport import Transport

SECRET: Final = "x-jangar-proxy-secret"  # noqa: S105 - the name of a header
MAX_LENGTH: Final = 1024
_SYSTEM: Final = "system:"
ANY_USER: Final = "*"


class ProxiedCallers:
    """By user and groups."""

    def __init__(
        self,
        transport: Callable[[Impersonated], Transport],
        *,
        user: str,
        groups: str,
        secret: str,
        allowed: frozenset[str] | None = None,
        users: frozenset[str] | None,
    ) -> None:
        """`user` and `groups` are names of headers; of the groups only those `allowed` count, with None all.

        Of the users those named may come, with None anybody; others only as members of a group that is allowed.
        """
        self._transport = transport
        self._user, self._groups, self._secret = user, groups, secret
        self._allowed, self._users = allowed, users
        self._known: OrderedDict[Impersonated, Caller] = OrderedDict()
        self._closing: list[Transport] = []

    def of(self, headers: Mapping[str, str]) -> Caller | None:
        name = headers.get(self._user, "").strip()
        if not name:
            return None
        if not hmac.compare_digest(headers.get(SECRET, "").encode(), self._secret.encode()):
            raise Unknown(f"the header {self._user} requires a valid {SECRET} header from the proxy")
        reported = headers.get(self._groups, "") if self._groups else ""
        groups = tuple(sorted({part.strip() for part in reported.split(",") if part.strip()}))
        # Nobody may sign in with the cluster's own names.
        if any(group.startswith(_SYSTEM) for group in (name, *groups)) or name == ANONYMOUS:
            raise Unknown("user names that start with system: are reserved")
        if (
            len(name) + len(reported) > MAX_LENGTH
            or not (name + reported).isprintable()
            or not (name + reported).isascii()
        ):
            raise Unknown("the proxy sent an invalid user name")
        if self._allowed is not None:
            # The API would refuse the whole request for one group that we may not speak for.
            groups = tuple(group for group in groups if group in self._allowed)
        if self._users is not None and name not in self._users and not (self._allowed and groups):
            raise Unknown(f"{name} is not in the allowed users and groups")
        return self._caller(Impersonated(name, groups))

    async def close(self) -> None:
        for item in (*self._closing, *(caller.transport for caller in self._known.values())):
            await item.close()

    def _caller(self, someone: Impersonated) -> Caller:
        found = self._known.get(someone)
        if found is None:
            transport = self._transport(someone)
            client = Client(transport, manager=MANAGER)
            found = Caller(
                name=someone.user,
                client=client,
                transport=transport,
                rights=Reviewed(client),
                # The proxy uses a cookie, which a browser also sends with forged requests.
                by_session=True,
            )
            self._known[someone] = found
            while len(self._known) > CALLERS:
                _, oldest = self._known.popitem(last=False)
                # Somebody may be using it right now.
                self._closing.append(oldest.transport)
        self._known.move_to_end(someone)
        return found
