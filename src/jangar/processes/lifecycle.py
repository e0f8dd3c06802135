"""What every process does from its start to its end: configure the log, stop on signals, collect garbage when idle.

Full garbage collections run only while the process is idle, because they pause every thread. Collections of young
objects take milliseconds and run automatically: they free closed connections and their buffers. A full collection takes
up to half a second and frees little, because long-lived objects hold few cycles. It runs after a minute of idleness, or
after an hour without one.
"""

import asyncio
import gc
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from jangar.settings.shared import log_format
from jangar.telemetry import logs

YOUNG_OBJECTS: Final = 2_000
YOUNG_COLLECTIONS: Final = 10
_NEVER: Final = 1_000_000
"""Threshold of the oldest generation that keeps the interpreter from starting full collections itself."""


def configure_logs(environment: Mapping[str, str] = os.environ) -> None:
    """Send the log of this process to stderr, in the format that the environment chooses. Raises BadSettings."""
    logs.configure_logs(form=log_format(environment))


def on_stop_signal(stop: Callable[[], None], *more_signals: signal.Signals) -> None:
    """Call `stop` on SIGINT and SIGTERM instead of ending the process."""
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM, *more_signals):
        loop.add_signal_handler(signal_number, stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSchedule:
    """When full collections run."""

    min_interval: float = 300.0
    max_interval: float = 3_600.0
    idle_seconds: float = 60.0
    """Longer than the pauses between bursts of requests."""
    sample_seconds: float = 5.0
    max_idle_cpu_share: float = 0.1
    """The process is idle while it uses at most this share of a core in each sample."""

    def is_due(self, *, since_last: float, idle_for: float) -> bool:
        if since_last >= self.max_interval:
            return True
        return since_last >= self.min_interval and idle_for >= self.idle_seconds


@asynccontextmanager
async def collecting_when_idle(schedule: CollectionSchedule | None = None) -> AsyncIterator[None]:
    """Schedule full collections while the block runs; objects that exist at the start are never collected."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, _NEVER)
    task = asyncio.create_task(_collect(schedule or CollectionSchedule(), gc.collect), name="cycle-collector")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gc.set_threshold(*before)


async def _collect(schedule: CollectionSchedule, collect: Callable[[], int]) -> None:
    last = sampled = busy = time.monotonic()
    used = time.process_time()
    while True:
        await asyncio.sleep(schedule.sample_seconds)
        now, used_now = time.monotonic(), time.process_time()
        if (used_now - used) / (now - sampled) > schedule.max_idle_cpu_share:
            busy = now
        sampled, used = now, used_now
        if schedule.is_due(since_last=now - last, idle_for=now - busy):
            collect()
            last = sampled = time.monotonic()
            used = time.process_time()
