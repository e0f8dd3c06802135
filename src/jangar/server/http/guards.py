"""What every request passes before anything looks at it: Host, Origin, size; and what every answer carries."""

import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jangar.server.http.problems import Problem
from kubekit.serving.peer_owner import PEER_UID

BODY_BYTES: Final = 1024 * 1024
ROOT: Final = 0
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Styles may stand in elements: the graph places its nodes so. Scripts may not."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedHosts:
    """Whose requests are listened to."""

    hosts: frozenset[str] | None
    """Host headers, port included, under which this server is known; None if anybody may call it anything."""
    origins: frozenset[str] = frozenset()
    """Other origins whose pages may ask."""

    @classmethod
    def loopback(cls, port: int) -> "AllowedHosts":
        return cls(hosts=frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")))

    def refusal(self, method: str, headers: Headers) -> Problem | None:
        """A name that somebody else's DNS points here, or a page of somebody else that a browser has open."""
        host = headers.get("host", "")
        if self.hosts is not None and host.lower() not in self.hosts:
            known = ", ".join(sorted(self.hosts))
            return Problem(421, f"host {host!r} is not allowed", fix=f"use one of {known}")
        if method in SAFE:
            return None
        origin = headers.get("origin")
        if origin is not None and not self._is_ours(origin, host):
            return Problem(403, f"origin {origin} may not change state")
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"} and (
            origin is None or origin not in self.origins
        ):
            return Problem(403, "cross-site requests may not change state")
        return None

    def _is_ours(self, origin: str, host: str) -> bool:
        return origin in self.origins or urlsplit(origin).netloc.lower() == host.lower()


class Guards:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, references: AllowedHosts) -> None:
        self._app = app
        self._allowed_hosts = references

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._allowed_hosts.refusal(scope["method"], headers) or _too_big(headers)
        guarded = _guarded(send)
        if refusal is not None:
            await refusal.answer()(scope, receive, guarded)
            return
        await self._app(scope, _limited(receive), guarded)


def is_foreign_user(scope: Scope) -> bool:
    """Whether the request comes from another user of this machine. Browsers send cookies to every port of a host, and
    another user could collect one there. Root is allowed: it can read every file anyway.
    """
    reported = (scope.get("extensions") or {}).get(PEER_UID)
    uid = reported["read"]() if reported else None
    return uid is not None and uid not in {ROOT, os.geteuid()}


def _too_big(headers: Headers) -> Problem | None:
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        return Problem(400, "Content-Length is not a number")
    return _much(int(length))


def _much(length: int) -> Problem | None:
    if length <= BODY_BYTES:
        return None
    return Problem(413, f"the body exceeds {BODY_BYTES} bytes", fix="apply large manifests with jangar apply")


def _limited(receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Also what comes in chunks has an end."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if refusal := _much(seen):
            raise refusal
        return message

    return limited


def _guarded(send: Send, headers: Iterable[tuple[str, str]] = tuple(HEADERS.items())) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            found = MutableHeaders(scope=message)
            for name, value in headers:
                found.setdefault(name, value)
        await send(message)

    return guarded
