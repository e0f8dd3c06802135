"""The time of a process: the wall clock's, but a clock that is set for a moment, or back and forth, does not move it.

Deadlines are compared with it. A wall clock that was set back for a second would put a deadline years away, and one
that was set forward would let it pass. A clock that stays where it was set is followed after some seconds.
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
"""Differences up to this are what time servers correct, and are followed at once."""
SETTLED_SECONDS: Final = 5.0
"""A clock that was set is followed after so long at its new time."""


class SteadyClock:
    """One process's. `run` follows the wall clock."""

    def __init__(
        self,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._origin = wall()
        self._began = steady()
        self._differs_since: float | None = None
        self._difference = timedelta()
        self.on_set: list[Callable[[], None]] = []
        """Called when the clock was set, and timers are to be set anew."""

    def now(self) -> datetime:
        return self._origin + timedelta(seconds=self._steady() - self._began)

    def follow(self) -> bool:
        """Compare with the wall clock; whether it was set, and is followed from now on."""
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
                for each in self.on_set:
                    each()
