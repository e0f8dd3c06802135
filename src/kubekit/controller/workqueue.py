"""A deduplicating work queue with delays and exponential backoff; a key is never processed by two workers at once.

The semantics are those of client-go's work queue: a key that is added while it is processed is queued again when
processing is `done`; a delayed key keeps only its earliest time; the delay of a failed key grows until it is forgotten.
Everything but the constructor needs a running event loop.
"""

import asyncio
import heapq
import random
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kubekit.controller.urgent_work import UrgentWorkGate

_MAX_EXPONENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """`first` seconds, doubled with every failure up to `limit`; jitter reduces it by up to half."""

    first: float = 0.005
    limit: float = 30.0

    def delay(self, failures: int, random: Callable[[], float]) -> float:
        """Seconds to wait after a failure that follows `failures` earlier ones."""
        ceiling = min(self.limit, self.first * 2.0 ** min(failures, _MAX_EXPONENT))
        return ceiling * (0.5 + random() / 2)


K = TypeVar("K", bound=Hashable)

_SLACK = 64


class ShutDown(Exception):
    """The queue is shut down."""


class WorkQueue(Generic[K]):
    """One queue of keys for any number of workers on one event loop."""

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        random: Callable[[], float] = random.random,
        on_wait: Callable[[float], None] | None = None,
        urgent_work: UrgentWorkGate | None = None,
    ) -> None:
        self.on_wait = on_wait
        """Called with the seconds that a key waited for a worker."""
        self._backoff = backoff or Backoff()
        self._random = random
        self._ready: deque[K] = deque()
        self._first: deque[K] = deque()
        """Ready keys that go ahead of others in all queues that share the gate."""
        self._urgent: set[K] = set()
        self._urgent_processing: set[K] = set()
        """Urgent keys that are being processed."""
        self._gate = urgent_work or UrgentWorkGate()
        self._gate.subscribe(self._wake_waiting)
        self._dirty: dict[K, float] = {}
        self._processing: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._delayed: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._timer: asyncio.Handle | None = None
        self._timer_at = 0.0
        """Kept separately, because a uvloop timer that is due at once does not report it."""
        self._getters: deque[asyncio.Future[None]] = deque()
        self._is_shut_down = False

    def add(self, key: K, *, first: bool = False) -> None:
        """Add a key; with `first`, ahead of others. A key that is already queued is not added twice."""
        if self._is_shut_down:
            return
        if first and key not in self._urgent:
            self._urgent.add(key)
            self._gate.begin()
            if key in self._dirty and key not in self._processing:
                self._ready.remove(key)
                self._first.append(key)
                self._wake_one()
        if key in self._dirty:
            return
        self._dirty[key] = asyncio.get_running_loop().time()
        if key not in self._processing:
            self._append(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Add the key after a delay; of several delays the earliest applies."""
        if self._is_shut_down:
            return
        if seconds <= 0:
            self.add(key)
            return
        when = asyncio.get_running_loop().time() + seconds
        known = self._delayed.get(key)
        if known is not None and known <= when:
            return
        self._delayed[key] = when
        self._sequence += 1
        heapq.heappush(self._heap, (when, self._sequence, key))
        self._drop_superseded()
        self._set_timer()

    def release_delayed(self) -> None:
        """Add every delayed key now, because the clock was set and its delay may be wrong."""
        delayed, self._delayed = self._delayed, {}
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for key in delayed:
            self.add(key)

    def add_rate_limited(self, key: K, *, backoff: Backoff | None = None, at_least: float = 0.0) -> float:
        """Add the key after a backoff that grows with every call until `forget`; returns the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = max(at_least, (backoff or self._backoff).delay(failures, self._random))
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Reset the backoff of the key after a success."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """The number of consecutive failures of the key."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key, reserved for the caller until `done`. Raises ShutDown after `shut_down`."""
        while not self._has_next:
            if self._is_shut_down:
                raise ShutDown
            await self._something_ready()
        key = (self._first or self._ready).popleft()
        if key in self._urgent:
            self._urgent.remove(key)
            self._urgent_processing.add(key)
        now = asyncio.get_running_loop().time()
        added = self._dirty.pop(key)
        self._processing[key] = now
        if self.on_wait is not None:
            self.on_wait(now - added)
        return key

    def done(self, key: K) -> None:
        """Mark a key from `get` as processed; if it was added in the meantime, it is queued again."""
        self._processing.pop(key, None)
        if key in self._dirty:
            self._append(key)
        if key in self._urgent_processing:
            self._urgent_processing.remove(key)
            self._gate.end()

    def shut_down(self) -> None:
        """Drop all waiting keys and accept no more; keys being processed are not affected."""
        self._is_shut_down = True
        self._ready.clear()
        self._first.clear()
        for _ in self._urgent:
            self._gate.end()
        self._urgent.clear()
        self._dirty.clear()
        self._delayed.clear()
        self._heap.clear()
        self._failures.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._getters:
            self._wake_one()

    def __len__(self) -> int:
        """The number of ready keys."""
        return len(self._first) + len(self._ready)

    @property
    def delayed(self) -> int:
        """The number of delayed keys."""
        return len(self._delayed)

    @property
    def processing(self) -> int:
        """The number of keys being processed."""
        return len(self._processing)

    def oldest_age(self) -> float:
        """Seconds that the oldest ready key has waited; 0 if there is none."""
        heads = [queue[0] for queue in (self._first, self._ready) if queue]
        if not heads:
            return 0.0
        return asyncio.get_running_loop().time() - min(self._dirty[key] for key in heads)

    def longest_processing(self) -> tuple[K, float] | None:
        """The key that has been processed for the longest time, and the seconds."""
        if not self._processing:
            return None
        key = next(iter(self._processing))
        return key, asyncio.get_running_loop().time() - self._processing[key]

    @property
    def _has_next(self) -> bool:
        return bool(self._first or (self._ready and not self._gate.is_on))

    def _wake_waiting(self) -> None:
        for _ in range(len(self._ready)):
            self._wake_one()

    def _append(self, key: K) -> None:
        (self._first if key in self._urgent else self._ready).append(key)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return

    async def _something_ready(self) -> None:
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter.done() and not getter.cancelled():
                # Woken and canceled at the same time: wake another getter for the key.
                if self._has_next:
                    self._wake_one()
            else:
                self._getters.remove(getter)
            raise

    def _set_timer(self) -> None:
        when = self._heap[0][0]
        if self._timer is not None:
            if self._timer_at <= when:
                return
            self._timer.cancel()
        self._timer_at = when
        self._timer = asyncio.get_running_loop().call_at(when, self._add_due)

    def _add_due(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._heap and self._heap[0][0] <= now:
            when, _, key = heapq.heappop(self._heap)
            if self._delayed.get(key) == when:
                del self._delayed[key]
                self.add(key)
        if self._heap:
            self._set_timer()

    def _drop_superseded(self) -> None:
        if len(self._heap) > 2 * len(self._delayed) + _SLACK:
            self._heap = [entry for entry in self._heap if self._delayed.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)
