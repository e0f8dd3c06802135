"""The interface between the client and a connection to a server: requests and line streams as bytes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

from kubekit.client.errors import ApiError

NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
JSON: Final = "application/json"
WriteGuard: TypeAlias = Callable[[], bool]
"""Called immediately before a write is sent; False prevents it."""
OnRequest: TypeAlias = Callable[[str, int, float], None]
"""Called with the verb (WATCH for a stream), the status code (0 without a response) and the seconds to the response."""
WATCH = "WATCH"
_ACCEPTED = 200


class LineSplitter:
    """Buffers an incomplete line until its end arrives. Takes linear time for lines of any length."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without empty ones."""
        end = chunk.rfind(b"\n")
        if end < 0:
            self._pending.append(chunk)
            return []
        self._pending.append(chunk[:end])
        lines = b"".join(self._pending).split(b"\n")
        self._pending = [chunk[end + 1 :]] if end + 1 < len(chunk) else []
        return [line for line in lines if line]


def always() -> bool:
    """Allow every write."""
    return True


class Response(NamedTuple):
    """A response of any status. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """A connection to one API server as one user."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - the error depends on how far the request got
        may_leave: WriteGuard = always,
    ) -> Response:
        """Send the request once, without retries. Raises NotSent if it had no effect, Ambiguous if it may have had one.

        For a request with a body, `may_leave` is called when the connection is open, immediately before the body is
        written; if it returns False, the request raises NotSent.
        """

    def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The lines of a streaming response. Raises the error of an error response, and Ambiguous if the stream breaks
        or is silent for `idle_timeout` seconds. Leaving the context ends the request.
        """

    async def close(self) -> None:
        """Close the connection and end requests in progress."""


class ObservedTransport:
    """Wraps a transport and calls `on_request` after each request."""

    def __init__(self, transport: Transport, on_request: OnRequest) -> None:
        self._transport = transport
        self._on_request = on_request

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - passed on
        may_leave: WriteGuard = always,
    ) -> Response:
        started_at = asyncio.get_running_loop().time()
        code = 0
        try:
            response = await self._transport.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                may_leave=may_leave,
            )
            code = response.status
            return response
        finally:
            self._report(method, code, started_at)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        started_at = asyncio.get_running_loop().time()
        opened = False
        try:
            async with self._transport.stream(path, query=query, idle_timeout=idle_timeout) as lines:
                opened = True
                self._report(WATCH, _ACCEPTED, started_at)
                yield lines
        except ApiError as error:
            if not opened:
                self._report(WATCH, error.status, started_at)
            raise

    async def close(self) -> None:
        await self._transport.close()

    def _report(self, verb: str, code: int, started_at: float) -> None:
        self._on_request(verb, code, asyncio.get_running_loop().time() - started_at)
