"""An event loop whose clock jumps to the next timer as soon as nothing else is ready: hours of sleeping cost nothing.

For code that is pure asyncio. Sockets and threads are not waited for; what waits for nothing that can happen any more
is told as an error instead of hanging.
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

PLACES = 6
"""What its clock can tell apart: microseconds."""
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""What the wall shows when the loop's clock shows 0."""


class NothingCanHappen(RuntimeError):
    """Everybody waits, no timer is set: the real program would hang for ever."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its `time()` stands still while there is work and then jumps."""

    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_JumpingSelector(self))
        self._clock_resolution = 10**-PLACES

    def time(self) -> float:
        return round(self._virtual_now, PLACES)

    def stall(self, seconds: float) -> None:
        """Let time pass while nothing runs, as in a process that is stopped or a machine that swaps."""
        self._virtual_now += seconds

    def creep(self) -> None:
        """A turn of the loop takes a moment: who waits for less than a clock can tell would wait for ever."""
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
    """What `asyncio.run` does, in virtual time. No clock waits for a thread, so everything is evaluated at once."""
    with patch.object(evaluation, "INLINE_BYTES", sys.maxsize):  # noqa: SIM117 - the runner ends first
        with asyncio.Runner(loop_factory=VirtualTimeLoop, debug=debug) as runner:
            return runner.run(main)


def wall_clock(start: datetime = EPOCH, *, offset: float = 0.0) -> Callable[[], datetime]:
    """A `now` that moves with the running loop's clock; `offset` seconds wrong for a host whose clock is off."""
    return lambda: start + timedelta(seconds=asyncio.get_running_loop().time() + offset)
