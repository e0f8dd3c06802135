"""A clock for deadlines that follows the wall clock but ignores brief changes of it.

A wall clock that is set back would postpone a deadline, and one that is set forward would let it pass. A clock that
stays at its new time is followed after some seconds.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

log = logging.getLogger("jangar.process")

CHECK_SECONDS: Final = 1.0
TOLERANCE: Final = timedelta(seconds=1)
"""Smaller differences are NTP corrections and are followed at once."""
SETTLED_SECONDS: Final = 5.0
"""How long a clock must stay at its new time before it is followed."""


class SteadyClock:
    """The clock of one process. `run` follows the wall clock."""

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._origin = wall()
        self._started_at = steady()
        self._differs_since: float | None = None
        self._difference = timedelta()
        self.on_set: list[Callable[[], None]] = []
        """Called when the clock was set, to restart timers."""

    def now(self) -> datetime:
        return self._origin + timedelta(seconds=self._steady() - self._started_at)

    def follow(self) -> bool:
        """Compare with the wall clock; returns whether it was set and is followed from now on."""
        difference = self._wall() - self.now()
        if abs(difference) <= TOLERANCE:
            self._origin += difference
            self._differs_since = None
            return False
        since = self._differs_since
        if since is None or abs(difference - self._difference) > TOLERANCE:
            self._differs_since, self._difference = self._steady(), difference
            return False
        if self._steady() - since < SETTLED_SECONDS:
            return False
        self._origin += difference
        self._differs_since = None
        return True

    async def run(self) -> None:
        """Follow the wall clock until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if self.follow():
                log.warning("system clock was set", extra={"now": self.now().isoformat()})
                for callback in self.on_set:
                    callback()
