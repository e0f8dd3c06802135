"""Frees reference cycles without a pause that matters.

A collection stops every thread. One of young objects takes milliseconds and runs by itself: it finds closed connections
and their buffers. One of all objects takes longer the more there are, up to half a second here, and long-lived
objects hold few cycles: it runs when the process is idle, or when it was not idle for an hour.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

YOUNG_OBJECTS: Final = 2_000
YOUNG_COLLECTIONS: Final = 10
_NEVER: Final = 1_000_000
"""The interpreter's own collections of all objects: so many collections of the middle generation apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idleness:
    """When all objects are looked through."""

    min_seconds: float = 300.0
    max_seconds: float = 3_600.0
    look_seconds: float = 5.0
    max_cpu_share: float = 0.1
    """The process is idle if it used no more of a core since the last look."""

    def is_due(self, *, since_last: float, cpu_share: float) -> bool:
        if since_last >= self.max_seconds:
            return True
        return since_last >= self.min_seconds and cpu_share <= self.max_cpu_share


@asynccontextmanager
async def collecting_when_idle(idleness: Idleness | None = None) -> AsyncIterator[None]:
    """Take over from the interpreter. What exists now is never looked through again."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, _NEVER)
    task = asyncio.create_task(_collect(idleness or Idleness(), gc.collect), name="cycle-collector")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gc.set_threshold(*before)


async def _collect(idleness: Idleness, collect: Callable[[], int]) -> None:
    last = looked = time.monotonic()
    used = time.process_time()
    while True:
        await asyncio.sleep(idleness.look_seconds)
        now, used_now = time.monotonic(), time.process_time()
        share = (used_now - used) / (now - looked)
        looked, used = now, used_now
        if idleness.is_due(since_last=now - last, cpu_share=share):
            collect()
            last = looked = time.monotonic()
            used = time.process_time()
