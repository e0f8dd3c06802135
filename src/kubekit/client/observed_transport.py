"""A transport that tells of every request: verb, status code, seconds. Knows nothing of what is done with that."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TypeAlias

from kubekit.client.errors import ApiError
from kubekit.client.transport import JSON, NO_QUERY, MayLeave, Response, Transport, always

OnRequest: TypeAlias = Callable[[str, int, float], None]
"""Told the verb (of a stream: WATCH), the status code (0 without an answer) and the seconds until the answer."""

WATCH = "WATCH"
_ACCEPTED = 200


class ObservedTransport:
    """Another transport, with somebody listening."""

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
        timeout: float,  # noqa: ASYNC109 - handed on
        may_leave: MayLeave = always,
    ) -> Response:
        began = asyncio.get_running_loop().time()
        code = 0
        try:
            answer = await self._transport.request(
                method,
                path,
                query=query,
                body=body,
                content_type=content_type,
                timeout=timeout,
                may_leave=may_leave,
            )
            code = answer.status
            return answer
        finally:
            self._tell(method, code, began)

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        began = asyncio.get_running_loop().time()
        opened = False
        try:
            async with self._transport.stream(path, query=query, idle_timeout=idle_timeout) as lines:
                opened = True
                self._tell(WATCH, _ACCEPTED, began)
                yield lines
        except ApiError as error:
            if not opened:
                self._tell(WATCH, error.status, began)
            raise

    async def close(self) -> None:
        await self._transport.close()

    def _tell(self, verb: str, code: int, began: float) -> None:
        self._on_request(verb, code, asyncio.get_running_loop().time() - began)
