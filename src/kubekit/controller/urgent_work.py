"""Whether something is urgent in this process.

While it is, what can wait does: for a bounded time, so that nothing starves.
"""

import asyncio
from collections.abc import Callable
from typing import Final

LIMIT_SECONDS: Final = 4.0
"""So long at most others wait; then all go on together until nothing urgent is left. A busy machine needs it where a
quiet one needs a second; nothing that others do may be late by five.
"""
LINGER_SECONDS: Final = 0.05
"""So long they wait after the last one: what is urgent here often makes something urgent elsewhere."""


class UrgentWorkGate:
    """Counts what is urgent; one for all queues of a process, used from its event loop alone."""

    def __init__(self, *, limit: float = LIMIT_SECONDS, linger: float = LINGER_SECONDS) -> None:
        self._limit = limit
        self._linger = linger
        self._urgent = 0
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._calm_again: list[Callable[[], None]] = []

    @property
    def is_on(self) -> bool:
        """Whether what can wait shall wait."""
        return self._timer is not None

    def subscribe(self, calm_again: Callable[[], None]) -> None:
        """Be told whenever it is over."""
        self._calm_again.append(calm_again)

    def begin(self) -> None:
        """Something urgent has come."""
        self._urgent += 1
        if self._urgent == 1:
            loop = asyncio.get_running_loop()
            if self._timer is None or self._since is None:
                self._since = loop.time()
            self._calm_down_at(self._since + self._limit)

    def end(self) -> None:
        """It is done."""
        self._urgent -= 1
        if not self._urgent and self._timer is not None and self._since is not None:
            soon = asyncio.get_running_loop().time() + self._linger
            self._calm_down_at(min(soon, self._since + self._limit))

    def _calm_down_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(when, self._calm_down)

    def _calm_down(self) -> None:
        self._timer = None
        for tell in self._calm_again:
            tell()
