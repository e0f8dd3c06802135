"""Notices that the reader of a stream is gone, so that nothing is kept waiting for nobody."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any, Self

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Departure:
    """Listens for the disconnect while chunks are produced."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._listening: asyncio.Task[None] | None = None
        self.gone = False

    async def __aenter__(self) -> Self:
        self._listening = asyncio.create_task(self._listen(), name="client-departure")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)

    async def _listen(self) -> None:
        while not self.gone:
            message = await self._receive()
            self.gone = message["type"] == "http.disconnect"

    async def unless_gone(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks, until they end or the reader has gone; the producer is closed either way."""
        iterator = aiter(chunks)
        waiting: asyncio.Task[bytes] | None = None
        try:
            while not self.gone and self._listening is not None:
                waiting = asyncio.ensure_future(anext(iterator))
                await asyncio.wait({waiting, self._listening}, return_when=asyncio.FIRST_COMPLETED)
                if not waiting.done():
                    return
                try:
                    chunk = waiting.result()
                except StopAsyncIteration:
                    return
                yield chunk
        finally:
            if waiting is not None and not waiting.done():
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
            close = getattr(iterator, "aclose", None)
            if close is not None:
                await close()
