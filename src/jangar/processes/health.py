"""The small server by which a process tells how it is: /livez, /readyz and its metrics."""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from jangar.telemetry.metrics import CONTENT_TYPE, Metrics
from kubekit.serving.http_server import served
from kubekit.serving.listening import PortTaken, listening_as_asked

Problems = Callable[[], Sequence[str]]
Message = MutableMapping[str, Any]
Answer = tuple[int, str, bytes]
"""Status, content type, body."""
TEXT = "text/plain; charset=utf-8"
CHOOSE = "JANGAR_HEALTH_ADDRESS"


@asynccontextmanager
async def health_server(
    address: str, *, alive: Problems, ready: Problems, metrics: Metrics | None, metrics_path: str = "/metrics"
) -> AsyncIterator[None]:
    """Serve while the block runs."""
    routes: dict[str, Callable[[], Answer]] = {
        "/livez": lambda: health_answer(alive()),
        "/healthz": lambda: health_answer(alive()),
        "/readyz": lambda: health_answer(ready()),
    }
    if metrics is not None:
        read = metrics.text
        routes[metrics_path] = lambda: (200, CONTENT_TYPE, read())
    async with served(_application(routes), listener_of(address)):
        yield


def health_answer(problems: Sequence[str]) -> Answer:
    """`ok`, or 503 with a line for each problem."""
    text = "\n".join(problems or ["ok"]) + "\n"
    return 503 if problems else 200, TEXT, text.encode()


def listener_of(address: str) -> socket.socket:
    """A socket that listens on HOST:PORT; without a host on every address. Raises PortTaken."""
    host, _, port = address.rpartition(":")
    if not host and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
        except OSError as error:
            why = (error.strerror or "").lower()
            raise PortTaken(f"port {port} cannot be used ({why}): choose another with {CHOOSE}") from error
    return listening_as_asked(host.strip("[]"), int(port), CHOOSE)


def _application(
    routes: dict[str, Callable[[], Answer]],
) -> Callable[[Message, Any, Callable[[Message], Awaitable[None]]], Awaitable[None]]:
    async def answer(scope: Message, _: Any, send: Callable[[Message], Awaitable[None]]) -> None:
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

    return answer
