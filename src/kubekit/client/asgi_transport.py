"""A transport to an API server in the same process, through ASGI instead of a socket.

As with a socket, a request whose caller times out still completes, and a watch that is abandoned receives
`http.disconnect`.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from kubekit.client.errors import Ambiguous, NotSent, from_response
from kubekit.client.transport import JSON, NO_QUERY, LineSplitter, Response, WriteGuard, always

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

MIN_ERROR_STATUS: Final = 300
STREAM_END_TIMEOUT: Final = 5.0
"""Seconds that the application has to end an abandoned stream."""
MAX_BUFFERED_CHUNKS: Final = 64
"""Chunks of a stream to buffer for a slow reader before the server has to wait."""


class AsgiTransport:
    """One application, one user."""

    def __init__(self, app: App, *, token: str = "", user_agent: str = "jangar") -> None:
        self._app = app
        headers = {"host": "localhost", "accept": JSON, "user-agent": user_agent}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._exchanges: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - a timeout leaves the request running
        may_leave: WriteGuard = always,
    ) -> Response:
        if not may_leave():
            raise NotSent(f"{method} {path}: write prevented")
        exchange = _Exchange(body or b"")
        self._start(exchange, method, path, query, content_type)
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(timeout):
                while (chunk := await exchange.next_chunk()) is not None:
                    chunks.append(chunk)
        except TimeoutError as error:
            raise Ambiguous(f"{method} {path}: no response in time") from error
        finally:
            exchange.abandon()
        if not exchange.is_complete:
            raise Ambiguous(f"{method} {path}: the server failed without a response") from exchange.failure
        return Response(exchange.status, exchange.headers, b"".join(chunks))

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        exchange = _Exchange(b"")
        task = self._start(exchange, "GET", path, query, JSON)
        try:
            async with _limit(idle_timeout, path):
                await exchange.started()
            if exchange.status >= MIN_ERROR_STATUS:
                chunks = []
                async with _limit(idle_timeout, path):
                    while (chunk := await exchange.next_chunk()) is not None:
                        chunks.append(chunk)
                raise from_response(exchange.status, exchange.headers, b"".join(chunks))
            async with aclosing(_lines(exchange, path, idle_timeout)) as lines:
                yield lines
        finally:
            exchange.abandon()
            await _wait_for_end(task)

    async def close(self) -> None:
        self._is_closed = True
        for task in self._exchanges:
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    def _start(
        self, exchange: "_Exchange", method: str, path: str, query: Mapping[str, str], content_type: str
    ) -> asyncio.Task[None]:
        if self._is_closed:
            raise NotSent(f"{method} {path}: the client is closed")
        headers = [*self._headers, (b"content-length", str(len(exchange.body)).encode())]
        if exchange.body:
            headers.append((b"content-type", content_type.encode()))
        scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": _encode_query(tuple(query.items())),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 0),
            "server": ("localhost", 0),
        }
        task = asyncio.create_task(self._answer(scope, exchange), name=f"{method} {path}")
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)
        return task

    async def _answer(self, scope: Message, exchange: "_Exchange") -> None:
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as error:  # noqa: BLE001 - with a socket, the server would report it
            exchange.failure = error
        finally:
            exchange.end()


class _Exchange:
    """One request and its response, with methods for the application and for the caller."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_complete = False
        self.failure: Exception | None = None
        self._is_read = False
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._started = asyncio.Event()
        self._abandoned = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    # The application's side.

    async def receive(self) -> Message:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self._abandoned.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message.get("headers", ())
            }
            self._started.set()
            return
        if self._abandoned.is_set():
            return
        if chunk := message.get("body", b""):
            self._chunks.put_nowait(chunk)
        if not message.get("more_body"):
            self.is_complete = True
            self.end()
        elif self._chunks.qsize() >= MAX_BUFFERED_CHUNKS:
            self._room.clear()
            await self._room.wait()

    def end(self) -> None:
        self._started.set()
        self._chunks.put_nowait(None)

    # The caller's side.

    async def started(self) -> None:
        await self._started.wait()

    @property
    def has_chunk(self) -> bool:
        return not self._chunks.empty()

    async def next_chunk(self) -> bytes | None:
        """None at the end."""
        chunk = await self._chunks.get()
        if self._chunks.empty():
            self._room.set()
        return chunk

    def abandon(self) -> None:
        self._abandoned.set()
        self._room.set()


@lru_cache(maxsize=64)
def _encode_query(query: tuple[tuple[str, str], ...]) -> bytes:
    """Encode a query; cached, because all writes of a client have the same one."""
    return urlencode(query, quote_via=quote).encode()


async def _lines(exchange: _Exchange, path: str, idle_timeout: float) -> AsyncGenerator[bytes]:
    splitter = LineSplitter()
    while True:
        if exchange.has_chunk:
            chunk = await exchange.next_chunk()
        else:
            async with _limit(idle_timeout, path):
                chunk = await exchange.next_chunk()
        if chunk is None:
            break
        for line in splitter.feed(chunk):
            yield line
    if not exchange.is_complete:
        raise Ambiguous(f"GET {path}: the stream was interrupted") from exchange.failure


@asynccontextmanager
async def _limit(seconds: float, path: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Ambiguous(f"GET {path}: no data for {seconds:.0f} s") from error


async def _wait_for_end(task: asyncio.Task[None]) -> None:
    """Wait for the application to end an abandoned stream, then cancel it."""
    await asyncio.wait({task}, timeout=STREAM_END_TIMEOUT)
    task.cancel()
