"""A client that is no bottleneck: HTTP/1.1 over TLS on kept connections, one request at a time on each."""

import asyncio
import ssl
from pathlib import Path
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """A whole answer."""

    status: int
    body: bytes


class Connection(asyncio.Protocol):
    """One kept connection. `ask` sends bytes made by `Target.request` and waits for the whole answer."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._waiter: asyncio.Future[Reply] | None = None
        self._transport: Any = None
        self._body_at = 0
        self._length: int | None = None
        self._status = 0
        self._chunks: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def ask(self, request: bytes) -> "asyncio.Future[Reply]":
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiter

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._body_at and not self._read_head():
            return
        if self._length is not None:
            if len(self._buffer) >= self._body_at + self._length:
                self._answer(bytes(self._buffer[self._body_at : self._body_at + self._length]))
        elif self._read_chunks():
            self._answer(b"".join(self._chunks))

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(exc or ConnectionResetError("the server hung up"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        self._status = int(head[9:12])
        self._body_at = end + 4
        at = head.find(b"content-length:")
        self._length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else None
        return True

    def _read_chunks(self) -> bool:
        """Take whole chunks off the buffer; True at the last one."""
        while (end := self._buffer.find(b"\r\n", self._body_at)) >= 0:
            size = int(self._buffer[self._body_at : end], 16)
            if len(self._buffer) < end + 4 + size:
                return False
            if not size:
                return True
            self._chunks.append(bytes(self._buffer[end + 2 : end + 2 + size]))
            self._body_at = end + 4 + size
        return False

    def _answer(self, body: bytes) -> None:
        self._buffer.clear()
        self._chunks.clear()
        self._body_at, self._length = 0, None
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(Reply(self._status, body))


class Watching(asyncio.Protocol):
    """Counts events of an open watch without reading them."""

    def __init__(self, request: bytes, mark: bytes) -> None:
        self._request, self._mark = request, mark
        self._tail = b""
        self.count = 0
        self.wanted = 0
        self.status_received = asyncio.get_running_loop().create_future()
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.status_received.done():
            self.status_received.set_result(int(data[9:12]))
        text = self._tail + data
        self.count += text.count(self._mark)
        # A mark may lie across two pieces; a whole one never fits into what is kept.
        self._tail = text[-(len(self._mark) - 1) :]
        if self.count >= self.wanted > 0 and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        for item in (self.status_received, self.done):
            if not item.done():
                item.set_exception(exc or ConnectionResetError("the server ended a watch"))

    def close(self) -> None:
        self.done.cancel()
        self._transport.abort()


class Target:
    """A server to ask."""

    def __init__(self, *, port: int, token: str, ca: Path) -> None:
        self._port, self._token = port, token
        self._trust = ssl.create_default_context(cafile=str(ca))

    def request(self, method: str, path: str, body: bytes = b"", media: str = "application/json") -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._token}\r\n"
            f"Accept: application/json\r\nUser-Agent: bench/1\r\n"
        )
        if body:
            head += f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body

    async def connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, "127.0.0.1", self._port, ssl=self._trust)
        return connection

    async def watch(self, path: str, mark: bytes) -> Watching:
        loop = asyncio.get_running_loop()
        request = self.request("GET", path)
        _, watching = await loop.create_connection(
            lambda: Watching(request, mark), "127.0.0.1", self._port, ssl=self._trust
        )
        status = await asyncio.wait_for(watching.status_received, 30)
        assert status == 200, f"GET {path}: {status}"
        return watching
