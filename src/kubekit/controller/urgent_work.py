"""Gives urgent work precedence: other work waits while there is any, for a bounded time."""

import asyncio
from collections.abc import Callable
from typing import Final

LIMIT_SECONDS: Final = 4.0
"""Upper bound for the wait of other work: on a loaded machine urgent work may take this long; must stay below the 5 s
latency goal.
"""
LINGER_SECONDS: Final = 0.05
"""How long other work waits after the last urgent item, because urgent work often causes more of it."""


class UrgentWorkGate:
    """Counts urgent items; shared by all queues of a process and used only from its event loop."""

    def __init__(self, *, limit: float = LIMIT_SECONDS, linger: float = LINGER_SECONDS) -> None:
        self._limit = limit
        self._linger = linger
        self._urgent = 0
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._on_idle: list[Callable[[], None]] = []

    @property
    def is_on(self) -> bool:
        """Whether other work must wait."""
        return self._timer is not None

    def subscribe(self, on_idle: Callable[[], None]) -> None:
        """Call `on_idle` whenever other work may run again."""
        self._on_idle.append(on_idle)

    def begin(self) -> None:
        """Add an urgent item."""
        self._urgent += 1
        if self._urgent == 1:
            loop = asyncio.get_running_loop()
            if self._timer is None or self._since is None:
                self._since = loop.time()
            self._close_at(self._since + self._limit)

    def end(self) -> None:
        """Remove an urgent item that is done."""
        self._urgent -= 1
        if not self._urgent and self._timer is not None and self._since is not None:
            soon = asyncio.get_running_loop().time() + self._linger
            self._close_at(min(soon, self._since + self._limit))

    def _close_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._close)

    def _close(self) -> None:
        self._timer = None
        for callback in self._on_idle:
            callback()
