"""A transport that reports the verb, status code and duration of every request to a callback."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from kubekit.client.errors import ApiError
from kubekit.client.transport import JSON, NO_QUERY, Response, Transport, WriteGuard, always

OnRequest: TypeAlias = Callable[[str, int, float], None]
"""Called with the verb (WATCH for a stream), the status code (0 without a response) and the seconds to the response."""

WATCH = "WATCH"
_ACCEPTED = 200


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
