"""The health server of a process: /livez, /readyz and metrics."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from jangar.telemetry.metrics import CONTENT_TYPE, Metrics
from kubekit.serving.http_server import served
from kubekit.serving.listening import PortTaken, listen_on_option

Problems = Callable[[], Sequence[str]]
Message = MutableMapping[str, Any]
Response = tuple[int, str, bytes]
"""Status, content type, body."""
TEXT = "text/plain; charset=utf-8"
ADDRESS_SETTING = "JANGAR_HEALTH_ADDRESS"


@asynccontextmanager
async def health_server(
    address: str, *, alive: Problems, ready: Problems, metrics: Metrics | None, metrics_path: str = "/metrics"
) -> AsyncIterator[None]:
    """Serve while the block runs."""
    routes: dict[str, Callable[[], Response]] = {
        "/livez": lambda: health_response(alive()),
        "/healthz": lambda: health_response(alive()),
        "/readyz": lambda: health_response(ready()),
    }
    if metrics is not None:
        read = metrics.text
        routes[metrics_path] = lambda: (200, CONTENT_TYPE, read())
    async with served(_application(routes), listener_of(address)):
        yield


def health_response(problems: Sequence[str]) -> Response:
    """`ok`, or 503 with a line for each problem."""
    text = "\n".join(problems or ["ok"]) + "\n"
    return 503 if problems else 200, TEXT, text.encode()


def listener_of(address: str) -> socket.socket:
    """A socket that listens on HOST:PORT, or on every address without a host. Raises PortTaken."""
    host, _, port = address.rpartition(":")
    if not host and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            why = (error.strerror or "").lower()
            raise PortTaken(
                f"port {port} cannot be used ({why}): choose another with {ADDRESS_SETTING}"
            ) from error
    return listen_on_option(host.strip("[]"), int(port), ADDRESS_SETTING)


def _application(
    routes: dict[str, Callable[[], Response]],
) -> Callable[[Message, Any, Callable[[Message], Awaitable[None]]], Awaitable[None]]:
    async def respond(scope: Message, _: Any, send: Callable[[Message], Awaitable[None]]) -> None:
        route = routes.get(scope["path"])
        if route is None:
            status, kind, body = 404, TEXT, b"not found\n"
        elif scope["method"] not in {"GET", "HEAD"}:
            status, kind, body = 405, TEXT, b"method not allowed\n"
        else:
            status, kind, body = route()
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    return respond
