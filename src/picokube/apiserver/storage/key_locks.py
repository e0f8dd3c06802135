"""One change of a key at a time, in the order they came. A turn ends when it is passed on, not when its taker does."""

import asyncio
from collections import deque

from picokube.apiserver.storage.store import Key


class KeyLocks:
    """Who may change which key."""

    def __init__(self) -> None:
        self._waiting: dict[Key, deque[asyncio.Future[None]]] = {}

    async def take(self, key: Key) -> None:
        """Wait until nobody else changes the key."""
        if (line := self._waiting.get(key)) is None:
            self._waiting[key] = deque()
            return
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come in the same moment; then it is for the next one.
            if turn.done() and not turn.cancelled():
                self.pass_on(key)
            raise

    def pass_on(self, key: Key) -> None:
        line = self._waiting[key]
        while line:
            turn = line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._waiting[key]
