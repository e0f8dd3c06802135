"""An event loop whose clock jumps to the next timer as soon as nothing else is ready: hours of sleep cost nothing.

For code that uses only asyncio. It does not wait for sockets and threads; waiting for an event that cannot happen is
an error instead of a hang.
"""

import asyncio
import selectors
import sys
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from unittest.mock import patch

from kubekit.controller import evaluation

T = TypeVar("T")

DECIMALS = 6
"""Decimal places of its clock: microseconds."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall clock when the loop's clock is 0."""


class NothingCanHappen(RuntimeError):
    """All tasks wait and no timer is set: the real program would hang forever."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its `time()` stands still while there is work and then jumps."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_JumpingSelector(self))
        self._clock_resolution = 10**-DECIMALS

    def time(self) -> float:
        return round(self._virtual_now, DECIMALS)

    def stall(self, seconds: float) -> None:
        """Advance time while nothing runs, as in a paused process or on a swapping machine."""
        self._virtual_now += seconds

    def creep(self) -> None:
        """Each loop iteration takes a moment: waits below the clock's resolution would never end."""
        self._virtual_now += 1e-9

    def jump(self) -> None:
        """Go to the earliest timer; private to the selector."""
        scheduled: list[asyncio.TimerHandle] = self._scheduled
        if not scheduled:
            raise NothingCanHappen("every task waits and no timer is set")
        self._virtual_now = max(self._virtual_now, scheduled[0].when())


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        self._loop.creep()
        if not ready and (timeout is None or timeout > 0):
            self._loop.jump()
        return ready


def run_virtual(main: Coroutine[Any, Any, T], *, debug: bool = False) -> T:
    """Like `asyncio.run` in virtual time. The clock does not wait for threads, so they run synchronously."""
    with patch.object(evaluation, "INLINE_BYTES", sys.maxsize):  # noqa: SIM117 - the runner ends first
        with asyncio.Runner(loop_factory=VirtualTimeLoop, debug=debug) as runner:
            return runner.run(main)


def wall_clock(start: datetime = EPOCH, *, offset: float = 0.0) -> Callable[[], datetime]:
    """A `now` that follows the running loop's clock, off by `offset` seconds."""
    return lambda: start + timedelta(seconds=asyncio.get_running_loop().time() + offset)
