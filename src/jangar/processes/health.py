"""The small server by which a process tells how it is: /livez, /readyz and its metrics."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from aiohttp import web

from jangar.telemetry.metrics import CONTENT_TYPE, Metrics

Problems = Callable[[], Sequence[str]]


@asynccontextmanager
async def health_server(
    address: str, *, alive: Problems, ready: Problems, metrics: Metrics | None, metrics_path: str = "/metrics"
) -> AsyncIterator[None]:
    """Serve while the block runs."""
    app = web.Application()
    app.router.add_get("/livez", _told(alive))
    app.router.add_get("/healthz", _told(alive))
    app.router.add_get("/readyz", _told(ready))
    if metrics is not None:
        read = metrics.text

        async def scrape(_: web.Request) -> web.Response:
            return web.Response(body=read(), headers={"Content-Type": CONTENT_TYPE})

        app.router.add_get(metrics_path, scrape)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    host, _, port = address.rpartition(":")
    try:
        await web.TCPSite(runner, host.strip("[]"), int(port)).start()
        yield
    finally:
        await runner.cleanup()


def _told(problems: Problems) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        found = problems()
        return web.Response(text="\n".join(found or ["ok"]) + "\n", status=503 if found else 200)

    return answer
