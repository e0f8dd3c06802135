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
LONGEST: Final = 1024
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
            raise Unknown(f"the header {self._user} counts only with the proxy's own {SECRET}")
        told = headers.get(self._groups, "") if self._groups else ""
        groups = tuple(sorted({each.strip() for each in told.split(",") if each.strip()}))
        # Names of the cluster itself are nobody's to sign in with.
        if any(each.startswith(_SYSTEM) for each in (name, *groups)) or name == ANONYMOUS:
            raise Unknown("names that begin with system: belong to the cluster")
        if len(name) + len(told) > LONGEST or not (name + told).isprintable() or not (name + told).isascii():
            raise Unknown("the proxy names nobody that Kubernetes could know")
        if self._allowed is not None:
            # The API would refuse the whole request for one group that we may not speak for.
            groups = tuple(each for each in groups if each in self._allowed)
        if self._users is not None and name not in self._users and not (self._allowed and groups):
            raise Unknown(f"{name} is not among the users and groups that may sign in here")
        return self._caller(Impersonated(name, groups))

    async def close(self) -> None:
        for each in (*self._closing, *(caller.transport for caller in self._known.values())):
            await each.close()

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
                # The proxy knows them by a cookie, which a browser sends whoever made it.
                by_session=True,
            )
            self._known[someone] = found
            while len(self._known) > CALLERS:
                _, oldest = self._known.popitem(last=False)
                # Somebody may be using it right now.
                self._closing.append(oldest.transport)
        self._known.move_to_end(someone)
        return found
