"""An API server in this process, asked through its ASGI face: no sockets, the same meaning.

As behind a socket, a request that its caller gives up runs to its end, and a watch that is left hears
`http.disconnect`.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing, asynccontextmanager
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from kubekit.client.errors import Ambiguous, NotSent, from_answer
from kubekit.client.line_splitting import LineSplitter
from kubekit.client.transport import JSON, NO_QUERY, MayLeave, Response, always

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

FIRST_FAILURE: Final = 300
FAREWELL: Final = 5.0
"""Seconds that an application has to end a stream that was left."""
CHUNKS_AHEAD: Final = 64
"""How many chunks of a stream wait for a slow reader before the server does."""


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
        may_leave: MayLeave = always,
    ) -> Response:
        if not may_leave():
            raise NotSent(f"{method} {path}: held back")
        exchange = _Exchange(body or b"")
        self._start(exchange, method, path, query, content_type)
        chunks: list[bytes] = []
        try:
            async with asyncio.timeout(timeout):
                while (chunk := await exchange.next_chunk()) is not None:
                    chunks.append(chunk)
        except TimeoutError as error:
            raise Ambiguous(f"{method} {path}: no answer in time") from error
        finally:
            exchange.leave()
        if not exchange.is_complete:
            raise Ambiguous(f"{method} {path}: the server ended without an answer") from exchange.failure
        return Response(exchange.status, exchange.headers, b"".join(chunks))

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        exchange = _Exchange(b"")
        task = self._start(exchange, "GET", path, query, JSON)
        try:
            async with _limit(idle_timeout, path):
                await exchange.begun()
            if exchange.status >= FIRST_FAILURE:
                chunks = []
                async with _limit(idle_timeout, path):
                    while (chunk := await exchange.next_chunk()) is not None:
                        chunks.append(chunk)
                raise from_answer(exchange.status, exchange.headers, b"".join(chunks))
            async with aclosing(_lines(exchange, path, idle_timeout)) as lines:
                yield lines
        finally:
            exchange.leave()
            await _ended(task)

    async def close(self) -> None:
        self._is_closed = True
        for task in self._exchanges:
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    def _start(
        self, exchange: "_Exchange", method: str, path: str, query: Mapping[str, str], content_type: str
    ) -> asyncio.Task[None]:
        if self._is_closed:
            raise NotSent(f"{method} {path}: the connection was closed on this side")
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
            "query_string": _written(tuple(query.items())),
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
        except Exception as error:  # noqa: BLE001 - behind a socket it would be the server's to report, too
            exchange.failure = error
        finally:
            exchange.end()


class _Exchange:
    """One request and its answer, seen from both sides."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.status = 0
        self.headers: dict[str, str] = {}
        self.is_complete = False
        self.failure: Exception | None = None
        self._is_read = False
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._begun = asyncio.Event()
        self._left = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    # The application's side.

    async def receive(self) -> Message:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message.get("headers", ())
            }
            self._begun.set()
            return
        if self._left.is_set():
            return
        if chunk := message.get("body", b""):
            self._chunks.put_nowait(chunk)
        if not message.get("more_body"):
            self.is_complete = True
            self.end()
        elif self._chunks.qsize() >= CHUNKS_AHEAD:
            self._room.clear()
            await self._room.wait()

    def end(self) -> None:
        self._begun.set()
        self._chunks.put_nowait(None)

    # The caller's side.

    async def begun(self) -> None:
        await self._begun.wait()

    @property
    def has_chunk(self) -> bool:
        return not self._chunks.empty()

    async def next_chunk(self) -> bytes | None:
        """None at the end."""
        chunk = await self._chunks.get()
        if self._chunks.empty():
            self._room.set()
        return chunk

    def leave(self) -> None:
        self._left.set()
        self._room.set()


@lru_cache(maxsize=64)
def _written(query: tuple[tuple[str, str], ...]) -> bytes:
    """A query; that of every write of a client is the same."""
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
        raise Ambiguous(f"GET {path}: the stream broke") from exchange.failure


@asynccontextmanager
async def _limit(seconds: float, path: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Ambiguous(f"GET {path}: silent for {seconds:.0f} s") from error


async def _ended(task: asyncio.Task[None]) -> None:
    """A stream that was left is over when the application says so, or soon."""
    await asyncio.wait({task}, timeout=FAREWELL)
    task.cancel()
