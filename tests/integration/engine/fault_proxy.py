"""A proxy between a process and the API server that injects the `Faults` of the simulations.

Plain HTTP on loopback in its own thread. Records who wrote what and when.
"""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import aiohttp
from aiohttp import web

from simulation.faults import Faults, Window

READS = frozenset({"GET", "HEAD"})
ACCEPTED = (200, 201)
HOP = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host"}
)
REFUSALS = ((429, "TooManyRequests"), (500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout"))
START = 10.0


class FaultProxy:
    """Listens at `url` from `start` to `stop`; `faults` may be changed at any time, and count from then."""

    def __init__(self, upstream: str, *, seed: int = 0, ca: Path | None = None) -> None:
        self.url = ""
        self.writes: list[tuple[float, str]] = []
        """Time and request; without leases and events."""
        self.accepted: list[tuple[float, str]] = []
        """Requests that the server accepted, with their arrival time."""
        self.renewals: list[float] = []
        """When a lease was written."""
        self.holders: list[tuple[float, str, str, int]] = []
        """Per lease write: time of the server's response, name, holder, and resourceVersion."""
        self._upstream = upstream
        self._tls = ssl.create_default_context(cafile=ca) if ca is not None else False
        self._random = Random(seed)  # noqa: S311 - a plan repeats
        self._faults, self._since = Faults(), time.monotonic()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)

    def start(self) -> "FaultProxy":
        self._thread.start()
        assert self._ready.wait(START), "the proxy did not start"
        return self

    def stop(self) -> None:
        if self._over is not None:
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(START)

    def play(self, faults: Faults) -> None:
        """Inject these faults from now on; times of the plan count from now."""
        self._faults, self._since = faults, time.monotonic()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        async with self._session() as session:

            async def handle(request: web.Request) -> web.StreamResponse:
                return await self._pass(request, session)

            runner = web.AppRunner(_app(handle), shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.url = f"http://{host}:{port}"
            self._ready.set()
            await self._over.wait()
            await runner.cleanup()

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        timeout = aiohttp.ClientTimeout(total=None, connect=START)
        connector = aiohttp.TCPConnector(limit=0, ssl=self._tls)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False) as made:
            yield made

    async def _pass(self, request: web.Request, session: aiohttp.ClientSession) -> web.StreamResponse:
        body = await request.read()
        came = time.monotonic()
        is_write = request.method not in READS
        spared = "/leases" in request.path or "/events" in request.path
        if is_write and not spared:
            self.writes.append((came, f"{request.method} {request.path}"))
        elif is_write and "/leases" in request.path:
            self.renewals.append(time.monotonic())
        if self._inside(self._faults.away):
            await self._until_end(self._faults.away)
            return self._broken(request)
        if not spared and (early := await self._before(request, is_write=is_write)) is not None:
            return early
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        try:
            upstream = session.request(
                request.method, self._upstream + request.raw_path, data=body, headers=headers
            )
            async with upstream as answer:
                if request.query.get("watch") in ("true", "1"):
                    return await self._stream(request, answer)
                content = await answer.read()
        except (aiohttp.ClientError, OSError):
            return self._broken(request)
        if is_write and answer.status in ACCEPTED:
            self._note(request, came, content)
        if self._inside(self._faults.away) or (
            is_write and not spared and self._happens(self._faults.lost_answers)
        ):
            return self._broken(request)
        kept = {
            name: value
            for name, value in answer.headers.items()
            if name.lower() not in HOP - {"content-encoding"}
        }
        return web.Response(status=answer.status, body=content, headers=kept)

    def _note(self, request: web.Request, came: float, content: bytes) -> None:
        if "/events" in request.path:
            return
        if "/leases" not in request.path:
            self.accepted.append((came, f"{request.method} {request.path}"))
            return
        lease = json.loads(content)
        if lease["kind"] == "Lease":
            holder = (lease.get("spec") or {}).get("holderIdentity") or ""
            version = int(lease["metadata"]["resourceVersion"])
            self.holders.append((time.monotonic(), lease["metadata"]["name"], holder, version))

    async def _before(self, request: web.Request, *, is_write: bool) -> web.StreamResponse | None:
        if self._faults.slow and self._is_open():
            await asyncio.sleep(self._random.random() * self._faults.slow)
        if self._happens(self._faults.lost_requests):
            return self._broken(request)
        if is_write and request.method != "POST" and self._happens(self._faults.conflicts):
            return _status(409, "Conflict")
        if self._happens(self._faults.refusals):
            return _status(*self._random.choice(REFUSALS))
        return None

    async def _stream(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        reported = web.StreamResponse(status=answer.status, headers={"Content-Type": "application/json"})
        await reported.prepare(request)
        async for line in answer.content:
            if self._happens(self._faults.cut_watches):
                return self._broken(request)
            if self._happens(self._faults.silent_watches):
                await asyncio.sleep(3600)
            if self._faults.lag and self._is_open():
                await asyncio.sleep(self._random.random() * self._faults.lag)
            await self._until_end(self._faults.away)
            await reported.write(line)
            if self._happens(self._faults.repeats):
                await reported.write(line)
        await reported.write_eof()
        return reported

    def _broken(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=500)

    def _inside(self, windows: tuple[Window, ...]) -> float:
        now = time.monotonic() - self._since
        return max((end - now for start, end in windows if start <= now < end), default=0.0)

    async def _until_end(self, windows: tuple[Window, ...]) -> None:
        await asyncio.sleep(self._inside(windows))

    def _happens(self, share: float) -> bool:
        return bool(share) and self._is_open() and self._random.random() < share

    def _is_open(self) -> bool:
        return time.monotonic() - self._since < self._faults.until


def _app(handle: object) -> web.Application:
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", handle)
    return app


def _status(code: int, reason: str) -> web.Response:
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": "injected fault",
    }
    return web.json_response(body, status=code)
