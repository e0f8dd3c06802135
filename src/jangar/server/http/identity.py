"""Authenticates callers and checks their permissions.

On a cluster callers send their own token, or a trusted proxy names them after they signed in elsewhere (OIDC), and the
Kubernetes API decides what they may do. On a laptop a session identifies its owner. The control plane never acts for a
caller with its own permissions. Decisions of the API are cached for some seconds.
"""

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from kubekit.client.api_client import Client
from kubekit.client.connection import Impersonated
from kubekit.client.errors import Forbidden, NotFound, Unauthorized
from kubekit.client.resource import Resource
from kubekit.client.transport import Transport

SELF_SUBJECT_REVIEW: Final = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
TOKEN_REVIEW: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
ACCESS_REVIEW: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
CACHE_SECONDS: Final = 10.0
MAX_CALLERS: Final = 256
MAX_DECISIONS: Final = 1000
SESSION_SECONDS: Final = 30 * 24 * 3600
MAX_TOKEN: Final = 16 * 1024
MIN_TOKEN: Final = 32
"""Minimum length of the web UI token of a laptop."""
MANAGER: Final = "jangar-control-plane"
ANONYMOUS: Final = "system:anonymous"
PROXY_SECRET: Final = "x-jangar-proxy-secret"  # noqa: S105 - the name of a header
MAX_PROXY_HEADER: Final = 1024
SYSTEM_PREFIX: Final = "system:"
ANY_USER: Final = "*"


class Right(NamedTuple):
    """A permission: a verb on a kind of object."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        where = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {where}" + (f".{self.group}" if self.group else "")


class Rights(Protocol):
    """The permissions of one principal."""

    async def has(self, right: Right, namespace: str | None) -> bool:
        """Without a namespace: in all namespaces."""
        ...


class AllRights:
    """All permissions, for the owner of a laptop."""

    async def has(self, right: Right, namespace: str | None) -> bool:  # noqa: ARG002 - of the protocol
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """An authenticated user, with clients that use their credentials."""

    name: str
    client: Client
    transport: Transport
    rights: Rights
    by_session: bool = False
    """A browser sends the session cookie with every request, also with forged ones."""


class Unknown(Exception):
    """The token or session identifies no user; the message says why."""


class ReviewedRights:
    """Permissions as the Kubernetes API decides them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: OrderedDict[tuple[Right, str | None], tuple[float, bool]] = OrderedDict()

    async def has(self, right: Right, namespace: str | None) -> bool:
        found = self._known.get((right, namespace))
        if found is not None and time.monotonic() - found[0] < CACHE_SECONDS:
            return found[1]
        attributes = {"verb": right.verb, "group": right.group, "resource": right.resource}
        if right.subresource:
            attributes["subresource"] = right.subresource
        if namespace is not None:
            attributes["namespace"] = namespace
        answer = await self._client.create(
            ACCESS_REVIEW,
            {**_review(ACCESS_REVIEW), "spec": {"resourceAttributes": attributes}},
        )
        is_allowed = bool((answer.get("status") or {}).get("allowed"))
        self._known[right, namespace] = (time.monotonic(), is_allowed)
        while len(self._known) > MAX_DECISIONS:
            self._known.popitem(last=False)
        return is_allowed


@dataclass(slots=True)
class _Entry:
    caller: Principal
    transport: Transport
    at: float = field(default_factory=time.monotonic)


class BearerPrincipals:
    """Principals by their bearer tokens. Stores only hashes of tokens."""

    def __init__(self, transport: Callable[[str], Transport], own: Client | None = None) -> None:
        """`own` reviews tokens of callers that may not create a SelfSubjectReview, if the control plane may."""
        self._transport = transport
        self._own = own
        self._known: OrderedDict[bytes, _Entry] = OrderedDict()

    async def of(self, token: str) -> Principal:
        """Raises Unknown and the API's errors."""
        if len(token) > MAX_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
            raise Unknown("malformed bearer token")
        key = hashlib.sha256(token.encode()).digest()
        found = self._known.get(key)
        if found is None or time.monotonic() - found.at >= CACHE_SECONDS:
            found = await self._identify(key, token, found)
        if key in self._known:
            self._known.move_to_end(key)
        return found.caller

    async def close(self) -> None:
        for item in self._known.values():
            await item.transport.close()

    async def _identify(self, key: bytes, token: str, known: _Entry | None) -> _Entry:
        transport = known.transport if known else self._transport(token)
        client = known.caller.client if known else Client(transport, manager=MANAGER)
        try:
            name = await self._name(client, token)
        except Unknown:
            self._known.pop(key, None)
            await transport.close()
            raise
        except BaseException:
            if known is None:
                await transport.close()
            raise
        rights = known.caller.rights if known else ReviewedRights(client)
        caller = Principal(name=name, client=client, transport=transport, rights=rights)
        entry = self._known[key] = _Entry(caller, transport)
        while len(self._known) > MAX_CALLERS:
            _, oldest = self._known.popitem(last=False)
            await oldest.transport.close()
        return entry

    async def _name(self, client: Client, token: str) -> str:
        try:
            answer = await client.create(SELF_SUBJECT_REVIEW, _review(SELF_SUBJECT_REVIEW))
            user = (answer.get("status") or {}).get("userInfo") or {}
        except Unauthorized as error:
            raise Unknown("the Kubernetes API rejected the token") from error
        except (Forbidden, NotFound) as error:
            # The API is too old for this review, or the caller may not create it.
            user = await self._review_token(token)
            if not user:
                raise Unknown("the Kubernetes API cannot identify the owner of the token") from error
        name = str(user.get("username") or "")
        if not name or name == ANONYMOUS:
            raise Unknown("the Kubernetes API rejected the token")
        return name

    async def _review_token(self, token: str) -> Mapping[str, Any]:
        if self._own is None:
            return {}
        try:
            answer = await self._own.create(TOKEN_REVIEW, {**_review(TOKEN_REVIEW), "spec": {"token": token}})
        except (Unauthorized, Forbidden, NotFound):
            return {}
        status = answer.get("status") or {}
        return status.get("user") or {} if status.get("authenticated") else {}


def _review(resource: Resource) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}


class Sessions:
    """Session cookies of one laptop, signed with its token: they survive a restart and cannot be forged."""

    def __init__(self, token: str, cookie: str) -> None:
        """Raises ValueError for a token that is too short."""
        if len(token) < MIN_TOKEN:
            raise ValueError(
                f"the web UI token has {len(token)} characters; at least {MIN_TOKEN} are required"
            )
        self.token = token
        self.cookie = cookie

    def accepts(self, token: str) -> bool:
        return bool(token) and hmac.compare_digest(token.encode(), self.token.encode())

    def new(self, now: float) -> str:
        until = str(int(now) + SESSION_SECONDS)
        return f"{until}.{self._signature(until)}"

    def is_valid(self, session: str, now: float) -> bool:
        until, _, signature = session.partition(".")
        is_signed = hmac.compare_digest(signature.encode(), self._signature(until).encode())
        return is_signed and until.isdecimal() and int(until) > now

    def _signature(self, until: str) -> str:
        return hmac.new(self.token.encode(), f"session {until}".encode(), hashlib.sha256).hexdigest()


class ProxiedPrincipals:
    """Principals by user and groups. The proxy proves itself by a secret.

    The control plane impersonates them, for which it needs the permission.
    """

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
        """`user` and `groups` are header names. Only the `allowed` groups are used; None allows all.

        `users` may sign in, with None everyone; others only as members of an allowed group.
        """
        self._transport = transport
        self._user, self._groups, self._secret = user, groups, secret
        self._allowed, self._users = allowed, users
        self._known: OrderedDict[Impersonated, Principal] = OrderedDict()
        self._closing: list[Transport] = []

    def of(self, headers: Mapping[str, str]) -> Principal | None:
        name = headers.get(self._user, "").strip()
        if not name:
            return None
        if not hmac.compare_digest(headers.get(PROXY_SECRET, "").encode(), self._secret.encode()):
            raise Unknown(f"the header {self._user} requires a valid {PROXY_SECRET} header from the proxy")
        group_header = headers.get(self._groups, "") if self._groups else ""
        groups = tuple(sorted({part.strip() for part in group_header.split(",") if part.strip()}))
        if any(group.startswith(SYSTEM_PREFIX) for group in (name, *groups)) or name == ANONYMOUS:
            raise Unknown("user names that start with system: are reserved")
        if (
            len(name) + len(group_header) > MAX_PROXY_HEADER
            or not (name + group_header).isprintable()
            or not (name + group_header).isascii()
        ):
            raise Unknown("the proxy sent an invalid user name")
        if self._allowed is not None:
            # The API rejects the whole request if one group may not be impersonated.
            groups = tuple(group for group in groups if group in self._allowed)
        if self._users is not None and name not in self._users and not (self._allowed and groups):
            raise Unknown(f"{name} is not in the allowed users and groups")
        return self._principal(Impersonated(name, groups))

    async def close(self) -> None:
        for item in (*self._closing, *(principal.transport for principal in self._known.values())):
            await item.close()

    def _principal(self, user: Impersonated) -> Principal:
        found = self._known.get(user)
        if found is None:
            transport = self._transport(user)
            client = Client(transport, manager=MANAGER)
            found = Principal(
                name=user.user,
                client=client,
                transport=transport,
                rights=ReviewedRights(client),
                # The proxy uses a cookie, which a browser also sends with forged requests.
                by_session=True,
            )
            self._known[user] = found
            while len(self._known) > MAX_CALLERS:
                _, oldest = self._known.popitem(last=False)
                # A request may still use it.
                self._closing.append(oldest.transport)
        self._known.move_to_end(user)
        return found


class ProxyPrincipals(Protocol):
    """Principals that a trusted proxy names."""

    def of(self, headers: Mapping[str, str]) -> Principal | None:
        """Raises Unknown for a header that the proxy did not write."""
        ...

    async def close(self) -> None: ...


class Authenticator:
    """Identifies the principal of a request."""

    def __init__(
        self,
        bearers: BearerPrincipals,
        *,
        sessions: Sessions | None = None,
        owner: Principal | None = None,
        proxied: ProxyPrincipals | None = None,
    ) -> None:
        self._bearers = bearers
        self.sessions = sessions
        self._owner = owner
        self._proxied = proxied

    async def principal(
        self, headers: Mapping[str, str], cookies: Mapping[str, str], now: float
    ) -> Principal | None:
        """None if the request has no credentials. Raises Unknown."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer" or not token.strip():
                raise Unknown("the Authorization header contains no bearer token")
            if self.sessions is not None and self._owner is not None and self.sessions.accepts(token.strip()):
                return self._owner
            return await self._bearers.of(token.strip())
        if self._proxied is not None and (principal := self._proxied.of(headers)) is not None:
            return principal
        if self.sessions is None or self._owner is None:
            return None
        session = cookies.get(self.sessions.cookie)
        if session is None:
            return None
        if not self.sessions.is_valid(session, now):
            raise Unknown("the session has expired")
        return replace(self._owner, by_session=True)

    async def close(self) -> None:
        await self._bearers.close()
        if self._proxied is not None:
            await self._proxied.close()
