"""Who asks, and what they may: with their own token at the Kubernetes API, or on a laptop by a session of its owner.

The control plane lends nobody its rights. Answers of the API about rights are believed for some seconds.
"""

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, Protocol

from kubekit.client.api_client import Client
from kubekit.client.errors import Forbidden, NotFound, Unauthorized
from kubekit.client.resource import Resource
from kubekit.client.transport import Transport

MYSELF: Final = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)
WHOSE: Final = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)
MAY_I: Final = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
BELIEVED: Final = 10.0
"""Seconds."""
CALLERS: Final = 256
DECISIONS: Final = 1000
SESSION_SECONDS: Final = 30 * 24 * 3600
MAX_TOKEN: Final = 16 * 1024
MIN_TOKEN: Final = 32
"""Characters of the token of a laptop's page."""
MANAGER: Final = "jangar-control-plane"
ANONYMOUS: Final = "system:anonymous"


class Right(NamedTuple):
    """What somebody wants to do to which kind of object."""

    verb: str
    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        where = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {where}" + (f".{self.group}" if self.group else "")


class Rights(Protocol):
    """What one caller may."""

    async def has(self, right: Right, namespace: str | None) -> bool:
        """Without a namespace: in all of them."""
        ...


class AllRights:
    """The owner of a laptop."""

    async def has(self, right: Right, namespace: str | None) -> bool:  # noqa: ARG002 - of the protocol
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody known, and the API as they see it."""

    name: str
    client: Client
    transport: Transport
    rights: Rights
    by_session: bool = False
    """A browser sends the session cookie with every request, also with forged ones."""


class Unknown(Exception):
    """The token or session identifies no user; the message says why."""


class Reviewed:
    """Rights as the API tells them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: OrderedDict[tuple[Right, str | None], tuple[float, bool]] = OrderedDict()

    async def has(self, right: Right, namespace: str | None) -> bool:
        found = self._known.get((right, namespace))
        if found is not None and time.monotonic() - found[0] < BELIEVED:
            return found[1]
        attributes = {"verb": right.verb, "group": right.group, "resource": right.resource}
        if right.subresource:
            attributes["subresource"] = right.subresource
        if namespace is not None:
            attributes["namespace"] = namespace
        answer = await self._client.create(
            MAY_I,
            {**_review(MAY_I), "spec": {"resourceAttributes": attributes}},
        )
        is_allowed = bool((answer.get("status") or {}).get("allowed"))
        self._known[right, namespace] = (time.monotonic(), is_allowed)
        while len(self._known) > DECISIONS:
            self._known.popitem(last=False)
        return is_allowed


@dataclass(slots=True)
class _Entry:
    caller: Caller
    transport: Transport
    at: float = field(default_factory=time.monotonic)


class BearerCallers:
    """Callers by their bearer tokens. Keeps no token, only its hash and what was made of it."""

    def __init__(self, transport: Callable[[str], Transport], own: Client | None = None) -> None:
        """`own` looks tokens up where callers may not ask who they are, if the control plane has the right to."""
        self._transport = transport
        self._own = own
        self._known: OrderedDict[bytes, _Entry] = OrderedDict()

    async def of(self, token: str) -> Caller:
        """Raises Unknown, and what the API says when it cannot answer."""
        if len(token) > MAX_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
            raise Unknown("malformed bearer token")
        key = hashlib.sha256(token.encode()).digest()
        found = self._known.get(key)
        if found is None or time.monotonic() - found.at >= BELIEVED:
            found = await self._asked(key, token, found)
        if key in self._known:
            self._known.move_to_end(key)
        return found.caller

    async def close(self) -> None:
        for item in self._known.values():
            await item.transport.close()

    async def _asked(self, key: bytes, token: str, known: _Entry | None) -> _Entry:
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
        rights = known.caller.rights if known else Reviewed(client)
        caller = Caller(name=name, client=client, transport=transport, rights=rights)
        entry = self._known[key] = _Entry(caller, transport)
        while len(self._known) > CALLERS:
            _, oldest = self._known.popitem(last=False)
            await oldest.transport.close()
        return entry

    async def _name(self, client: Client, token: str) -> str:
        try:
            answer = await client.create(MYSELF, _review(MYSELF))
            user = (answer.get("status") or {}).get("userInfo") or {}
        except Unauthorized as error:
            raise Unknown("the Kubernetes API rejected the token") from error
        except (Forbidden, NotFound) as error:
            # An API that is older than the question, or whose callers may not ask it.
            user = await self._looked_up(token)
            if not user:
                raise Unknown("the Kubernetes API cannot identify the owner of the token") from error
        name = str(user.get("username") or "")
        if not name or name == ANONYMOUS:
            raise Unknown("the Kubernetes API rejected the token")
        return name

    async def _looked_up(self, token: str) -> Mapping[str, Any]:
        if self._own is None:
            return {}
        try:
            answer = await self._own.create(WHOSE, {**_review(WHOSE), "spec": {"token": token}})
        except (Unauthorized, Forbidden, NotFound):
            return {}
        status = answer.get("status") or {}
        return status.get("user") or {} if status.get("authenticated") else {}


def _review(resource: Resource) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {}}


class Sessions:
    """Sessions of one laptop: signed with its token, so that they outlive a restart, and nobody else can make one."""

    def __init__(self, token: str, cookie: str) -> None:
        """Raises ValueError for a token that anybody could guess."""
        if len(token) < MIN_TOKEN:
            raise ValueError(
                f"the web UI token has {len(token)} characters; at least {MIN_TOKEN} are required"
            )
        self.token = token
        self.cookie = cookie

    def opens(self, token: str) -> bool:
        return bool(token) and hmac.compare_digest(token.encode(), self.token.encode())

    def new(self, now: float) -> str:
        until = str(int(now) + SESSION_SECONDS)
        return f"{until}.{self._signature(until)}"

    def is_ours(self, session: str, now: float) -> bool:
        until, _, signature = session.partition(".")
        is_signed = hmac.compare_digest(signature.encode(), self._signature(until).encode())
        return is_signed and until.isdecimal() and int(until) > now

    def _signature(self, until: str) -> str:
        return hmac.new(self.token.encode(), f"session {until}".encode(), hashlib.sha256).hexdigest()


class Someone(Protocol):
    """Callers whom a trusted proxy names."""

    def of(self, headers: Mapping[str, str]) -> Caller | None:
        """Raises Unknown for a header that somebody else wrote."""
        ...

    async def close(self) -> None: ...


class Doorkeeper:
    """Finds out who asks."""

    def __init__(
        self,
        bearers: BearerCallers,
        *,
        sessions: Sessions | None = None,
        owner: Caller | None = None,
        proxied: Someone | None = None,
    ) -> None:
        self._bearers = bearers
        self.sessions = sessions
        self._owner = owner
        self._proxied = proxied

    async def caller(
        self, headers: Mapping[str, str], cookies: Mapping[str, str], now: float
    ) -> Caller | None:
        """None if nobody is named. Raises Unknown."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer" or not token.strip():
                raise Unknown("the Authorization header contains no bearer token")
            if self.sessions is not None and self._owner is not None and self.sessions.opens(token.strip()):
                return self._owner
            return await self._bearers.of(token.strip())
        if self._proxied is not None and (someone := self._proxied.of(headers)) is not None:
            return someone
        if self.sessions is None or self._owner is None:
            return None
        session = cookies.get(self.sessions.cookie)
        if session is None:
            return None
        if not self.sessions.is_ours(session, now):
            raise Unknown("the session has expired")
        return replace(self._owner, by_session=True)

    async def close(self) -> None:
        await self._bearers.close()
        if self._proxied is not None:
            await self._proxied.close()
