"""Checks Host, Origin and size of every request, and adds security headers to every response."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jangar.server.http.problems import Problem
from kubekit.serving.peer_owner import PEER_UID

MAX_BODY_BYTES: Final = 1024 * 1024
ROOT: Final = 0
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Inline styles are allowed, because the graph positions its nodes with them; inline scripts are not."""
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
    """The hosts and origins from which requests are accepted."""

    hosts: frozenset[str] | None
    """Accepted Host headers, with port; None accepts all."""
    origins: frozenset[str] = frozenset()
    """Other origins whose pages may send requests."""

    @classmethod
    def loopback(cls, port: int) -> "AllowedHosts":
        return cls(hosts=frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")))

    def refusal(self, method: str, headers: Headers) -> Problem | None:
        """Rejects DNS rebinding and requests from pages of other sites."""
        host = headers.get("host", "")
        if self.hosts is not None and host.lower() not in self.hosts:
            known = ", ".join(sorted(self.hosts))
            return Problem(421, f"host {host!r} is not allowed", fix=f"use one of {known}")
        if method in SAFE:
            return None
        origin = headers.get("origin")
        if origin is not None and not self._is_same_origin(origin, host):
            return Problem(403, f"origin {origin} may not change state")
        if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"} and (
            origin is None or origin not in self.origins
        ):
            return Problem(403, "cross-site requests may not change state")
        return None

    def _is_same_origin(self, origin: str, host: str) -> bool:
        return origin in self.origins or urlsplit(origin).netloc.lower() == host.lower()


class Guards:
    """The outermost ASGI layer."""

    def __init__(self, app: ASGIApp, allowed_hosts: AllowedHosts) -> None:
        self._app = app
        self._allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._allowed_hosts.refusal(scope["method"], headers) or _too_big(headers)
        send = _with_headers(send)
        if refusal is not None:
            await refusal.answer()(scope, receive, send)
            return
        await self._app(scope, _limited(receive), send)


def is_foreign_user(scope: Scope) -> bool:
    """Whether the request comes from another user of this machine. Browsers send cookies to every port of a host, and
    another user could collect one there. Root is allowed: it can read every file anyway.
    """
    peer = (scope.get("extensions") or {}).get(PEER_UID)
    uid = peer["read"]() if peer else None
    return uid is not None and uid not in {ROOT, os.geteuid()}


def _too_big(headers: Headers) -> Problem | None:
    length = headers.get("content-length", "0")
    if not length.isdecimal():
        return Problem(400, "Content-Length is not a number")
    return _length_problem(int(length))


def _length_problem(length: int) -> Problem | None:
    if length <= MAX_BODY_BYTES:
        return None
    return Problem(
        413, f"the body exceeds {MAX_BODY_BYTES} bytes", fix="apply large manifests with jangar apply"
    )


def _limited(receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Limits the size of a chunked body."""
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if problem := _length_problem(received):
            raise problem
        return message

    return limited


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
