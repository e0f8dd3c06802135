"""The servers and transports on which the client must behave the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from kubekit.client.asgi_transport import AsgiTransport
from kubekit.client.connection import Connection
from kubekit.client.errors import Ambiguous
from kubekit.client.http_transport import HttpTransport
from kubekit.client.transport import Transport
from picokube import ApiServerSettings, running
from picokube.apiserver.handlers.pods import log_path
from picokube.apiserver.http.app import Application
from support.api_servers import ApiServer


class HttpBed:
    """A server process over TLS."""

    def __init__(self, name: str, server: Callable[[], ApiServer], logs: bool) -> None:
        self.name, self.has_logs, self.checks_tokens = name, logs, True
        self._server = server

    @asynccontextmanager
    async def transport(self, *, token: str | None = None, trusted: bool = True) -> AsyncIterator[Transport]:
        server = self._server()
        authority = server.ca.read_bytes() if server.ca and trusted else None
        shown = server.token if token is None else token
        transport = HttpTransport(Connection(server=server.url, authority=authority, token=shown))
        try:
            yield transport
        finally:
            await transport.close()

    async def forget_history(self) -> None:
        self._server().forget_history()

    def write_log(self, pod_uid: str, container: str, text: str) -> None:
        _write_log(self._server().directory / "data", pod_uid, container, text)


class InProcessBed:
    """The embedded server in the test's event loop, without sockets."""

    name, has_logs, checks_tokens = "asgi", True, False

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[Transport]:
        async with running(ApiServerSettings(data_dir=self._directory, plain_http=True)) as server:
            self._dispatcher = server.dispatcher
            failures: list[Exception] = []
            transport = AsgiTransport(Application(server.dispatcher, failures.append))
            try:
                yield transport
            finally:
                await transport.close()
            assert failures == []

    async def forget_history(self) -> None:
        store = self._dispatcher._context.store
        await store.compact(store.revision)

    def write_log(self, pod_uid: str, container: str, text: str) -> None:
        _write_log(self._directory, pod_uid, container, text)


class Interposed:
    """A transport that cuts streams on demand and requests expired versions."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.cut_after: int | None = None
        self.ask_for: str | None = None
        self.watches: list[str] = []
        self.before_request: Callable[[], Awaitable[object]] = _nothing
        self.open = asyncio.Event()
        self.open.set()
        self._cut = asyncio.Event()

    async def request(self, *args, **keywords):
        await self.before_request()
        return await self._transport.request(*args, **keywords)

    @asynccontextmanager
    async def stream(self, path, *, query, idle_timeout):
        await self.open.wait()
        if self.ask_for is not None:
            query, self.ask_for = {**query, "resourceVersion": self.ask_for}, None
        self.watches.append(query["resourceVersion"])
        self._cut.clear()
        async with self._transport.stream(path, query=query, idle_timeout=idle_timeout) as lines:
            yield self._lines(aiter(lines))

    def cut(self) -> None:
        self._cut.set()

    async def close(self):
        await self._transport.close()

    async def _lines(self, lines):
        sent = 0
        while True:
            if self.cut_after is not None and sent >= self.cut_after:
                self.cut_after = None
                raise Ambiguous("cut by a fault")
            next_line = asyncio.ensure_future(anext(lines, None))
            cutting = asyncio.ensure_future(self._cut.wait())
            try:
                await asyncio.wait({next_line, cutting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                cutting.cancel()
                if not next_line.done():
                    next_line.cancel()
                await asyncio.wait({next_line, cutting})
            if self._cut.is_set():
                raise Ambiguous("cut by a fault")
            line = next_line.result()
            if line is None:
                return
            yield line
            sent += 1


async def _nothing() -> None:
    pass


def _write_log(data: Path, pod_uid: str, container: str, text: str) -> None:
    path = log_path(data / "pod-logs", pod_uid, container)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"2026-01-01T00:00:00.000000000Z stdout F {line}\n" for line in text.split("\n")))
