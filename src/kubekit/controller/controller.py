"""Workers that reconcile keys from a queue, with retries, timeouts, authority checks and quarantine.

A key is never reconciled twice at the same time. A failed pass is retried: soon after a conflict, with exponential
backoff after other errors, not at all after a TerminalError. An object whose pass blocked the event loop or kept timing
out is quarantined. It is released when its generation changes, that is, its spec was edited, and once when it is
deleted.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias, assert_never

from kubekit.cache.informer import Change, Handler, Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.errors import ApiError, Conflict, is_transient
from kubekit.controller.fence import acting_on
from kubekit.controller.reconcile import (
    Done,
    Key,
    Mapping,
    Reconciler,
    RequeueAfter,
    Result,
    TerminalError,
    own_key,
)
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.watchdog import PassTooLong, Watchdog
from kubekit.controller.workqueue import Backoff, ShutDown, WorkQueue

MAX_TIMEOUTS = 3
"""Consecutive timeouts, while other objects do not time out, after which an object is quarantined."""
log = logging.getLogger(__name__)
CONFLICT_BACKOFF = Backoff(first=0.005, limit=1.0)
_STUCK_LIMITS = 2
"""Number of time limits after which a pass that ignores cancellation is reported as stuck."""


class Subject(Protocol):
    """Returns the object of a key; None if it does not exist."""

    def __call__(self, key: Key, /) -> Cached | None: ...


@dataclass(slots=True)
class Quarantine:
    """The quarantined objects of one controller."""

    subject: Subject = field(default=lambda _: None)
    is_recorded: Callable[[Cached], bool] = field(default=lambda _: False)
    """Whether the object's status says that it is quarantined, as from an earlier process."""
    record: Callable[[Cached, str], Awaitable[None]] | None = None
    """Records the quarantine and its reason on the object."""
    _quarantined: dict[Key, tuple[int, bool]] = field(default_factory=dict)
    _timeouts: dict[Key, tuple[int, int]] = field(default_factory=dict)
    _passes: int = 0

    def __len__(self) -> int:
        return len(self._quarantined)

    def holds(self, key: Key) -> bool:
        """Whether the key must not be reconciled."""
        cached = self.subject(key)
        if cached is None:
            self._quarantined.pop(key, None)
            return False
        if key not in self._quarantined and not cached.is_being_deleted and self.is_recorded(cached):
            self._quarantined[key] = _version(cached)
        if self._quarantined.get(key) == _version(cached):
            return True
        self._quarantined.pop(key, None)
        return False

    def passed(self, key: Key) -> None:
        """Record that a pass over the key completed."""
        self._passes += 1
        self._timeouts.pop(key, None)

    def timed_out(self, key: Key) -> bool:
        """Count a timeout of a pass; returns whether the maximum is reached.

        It counts only if another pass completed since the last timeout: if the server is down, none does.
        """
        count, passes = self._timeouts.get(key, (0, -1))
        if passes != self._passes:
            count += 1
        self._timeouts[key] = count, self._passes
        return count >= MAX_TIMEOUTS

    async def add(self, key: Key, reason: str) -> None:
        """Quarantine the key until its generation changes."""
        cached = self.subject(key)
        if cached is None:
            return
        self._quarantined[key] = _version(cached)
        self._timeouts.pop(key, None)
        if self.record is not None:
            await self.record(cached, reason)


def _version(cached: Cached) -> tuple[int, bool]:
    return cached.generation, cached.is_being_deleted


class Outcome(StrEnum):
    """How a pass ended; the values are metric labels."""

    DONE = "done"
    LOOK_AGAIN = "look_again"
    CONFLICT = "conflict"
    TRANSIENT = "transient_error"
    TERMINAL = "terminal_error"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"
    NOT_OURS = "not_ours"
    ABORTED = "aborted"
    QUARANTINED = "quarantined"


OnPass: TypeAlias = Callable[[str, Outcome, float], None]
"""Called with the controller name, the outcome of a pass and its duration in seconds."""


class Authority(Protocol):
    """Whether this process may act on a key now; checked before each pass and when authority is lost during one."""

    def __call__(self, key: Key, /) -> bool: ...


class Controller:
    """A queue of keys and the workers that reconcile them."""

    def __init__(  # noqa: PLR0913 - each has a default, and a process gives some
        self,
        name: str,
        reconcile: Reconciler,
        *,
        workers: int = 8,
        time_limit: float = 60.0,
        backoff: Backoff | None = None,
        may_act: Authority | None = None,
        random: Callable[[], float] = random.random,
        urgent_work: UrgentWorkGate | None = None,
        quarantine: Quarantine | None = None,
    ) -> None:
        self.name = name
        self.quarantine = Quarantine() if quarantine is None else quarantine
        self.watchdog: Watchdog | None = None
        """Detects passes that block the event loop, if set."""
        self.queue: WorkQueue[Key] = WorkQueue(backoff=backoff, random=random, urgent_work=urgent_work)
        self.informers: list[Informer] = []
        """Every informer that it watches; no pass runs before all are synced."""
        self.on_pass: OnPass | None = None
        self._reconcile = reconcile
        self._workers = workers
        self._time_limit = time_limit
        self._may_act = may_act
        self._sources: list[tuple[Informer, Handler]] = []
        self._passes: dict[Key, asyncio.Timeout] = {}

    def watch(
        self,
        informer: Informer,
        mapping: Mapping = own_key,
        *,
        where: Callable[[Change], bool] | None = None,
        after: float | Callable[[Change], float] = 0.0,
        first: bool = False,
    ) -> None:
        """Enqueue the keys that `mapping` returns when an object of the informer changes, after an optional delay.

        With `first`, they go ahead of other keys in all queues that share the urgent-work gate. `after` is called only
        for a change that maps to a key.
        """

        def handle(change: Change) -> None:
            if where is not None and not where(change):
                return
            keys = mapping(change)
            if first:
                for key in keys:
                    self.queue.add(key, first=True)
            elif keys := list(keys):
                seconds = after(change) if callable(after) else after
                for key in keys:
                    self.queue.add_after(key, seconds)

        if informer not in self.informers:
            self.informers.append(informer)
        self._sources.append((informer, handle))
        informer.subscribe(handle)

    def enqueue(self, key: Key) -> None:
        """Add the key to the queue."""
        self.queue.add(key)

    def enqueue_all(self) -> None:
        """Enqueue every object in the caches, as after gaining authority."""
        for informer, handle in self._sources:
            for cached in informer.cache.all():
                handle(Change(kind="added", old=None, new=cached))

    @property
    def keys_in_progress(self) -> list[Key]:
        """The keys that are being reconciled."""
        return list(self._passes)

    def abandon_lost(self, may_go_on: Authority | None = None) -> None:
        """Cancel the passes for keys that this process may no longer act on.

        `may_go_on` lets a pass finish although a new one for its key would not start.
        """
        now = asyncio.get_running_loop().time()
        may_continue = may_go_on or self.may_act
        for key, limit in self._passes.items():
            if not limit.expired() and not may_continue(key):
                limit.reschedule(now)

    async def run(self) -> None:
        """Reconcile until `stop`, then finish the passes in progress."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}-worker-{number}")

    def stop(self) -> None:
        """Start no further pass."""
        self.queue.shut_down()

    def problems(self) -> list[str]:
        """Reasons to restart the process."""
        longest = self.queue.longest_processing()
        if longest is None or longest[1] <= _STUCK_LIMITS * self._time_limit:
            return []
        key, seconds = longest
        return [f"controller {self.name}: reconciling {key} is stuck (running for {seconds:.0f} s)"]

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except ShutDown:
                return
            try:
                await self._pass(key)
            finally:
                self.queue.done(key)
            # A pass with nothing to do never awaits: thousands of them must not block the loop.
            await asyncio.sleep(0)

    async def _pass(self, key: Key) -> None:
        if not self.may_act(key):
            self.queue.forget(key)
            self._report(Outcome.NOT_OURS, 0.0)
            return
        if self.quarantine.holds(key):
            self.queue.forget(key)
            self._report(Outcome.QUARANTINED, 0.0)
            return
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        limit = asyncio.timeout(self._time_limit)
        self._passes[key] = limit
        try:
            with acting_on(key):
                async with limit:
                    outcome = self._after(key, await self._guarded(key))
        except Exception as error:  # noqa: BLE001 (the only place that logs and retries errors of reconcilers)
            outcome = self._after_error(key, error, timed_out=limit.expired())
            await self._quarantine_after(key, outcome)
        else:
            self.quarantine.passed(key)
        finally:
            del self._passes[key]
        self._report(outcome, loop.time() - started_at)

    async def _guarded(self, key: Key) -> Result:
        if self.watchdog is None:
            return await self._reconcile(key)
        return await self.watchdog.guarded(_coroutine(self._reconcile, key), f"{self.name} {key}")

    async def _quarantine_after(self, key: Key, outcome: Outcome) -> None:
        """Quarantine an object whose passes block the loop or keep timing out, until its spec changes."""
        match outcome:
            case Outcome.ABORTED:
                reason = "reconciling it blocked the event loop for too long and was aborted"
            case Outcome.TIMED_OUT if self.quarantine.timed_out(key):
                reason = (
                    f"reconciling it timed out {MAX_TIMEOUTS} times in a row after {self._time_limit:.0f} s"
                )
            case _:
                return
        log.error("object quarantined", extra={"controller": self.name, "key": str(key), "reason": reason})
        try:
            async with asyncio.timeout(self._time_limit):
                await self.quarantine.add(key, reason)
        except (ApiError, TimeoutError) as error:
            fields = {"controller": self.name, "key": str(key), "error": str(error)}
            log.warning("quarantine not recorded on the object", extra=fields)

    def _after(self, key: Key, result: Result) -> Outcome:
        self.queue.forget(key)
        match result:
            case Done():
                return Outcome.DONE
            case RequeueAfter(after=seconds):
                self.queue.add_after(key, seconds)
                return Outcome.LOOK_AGAIN
            case _:
                assert_never(result)

    def _after_error(self, key: Key, error: Exception, *, timed_out: bool) -> Outcome:
        fields = {"controller": self.name, "key": str(key), "error": str(error)}
        if timed_out and not self.may_act(key):
            self.queue.forget(key)
            log.info("pass abandoned; authority lost", extra=fields)
            return Outcome.ABANDONED
        match error:
            case TimeoutError() if timed_out:
                wait = self.queue.add_rate_limited(key)
                log.warning("pass timed out", extra=fields | {"limit": self._time_limit, "retry_in": wait})
                return Outcome.TIMED_OUT
            case PassTooLong():
                wait = self.queue.add_rate_limited(key)
                log.error("pass aborted; event loop blocked", extra=fields | {"retry_in": wait})
                return Outcome.ABORTED
            case Conflict():
                wait = self.queue.add_rate_limited(key, backoff=CONFLICT_BACKOFF)
                log.debug("pass conflicted", extra=fields | {"retry_in": wait})
                return Outcome.CONFLICT
            case TerminalError():
                self.queue.forget(key)
                log.warning("pass failed; not retrying", extra=fields)
                return Outcome.TERMINAL
            case ApiError() if is_transient(error):
                wait = self.queue.add_rate_limited(key, at_least=error.retry_after or 0.0)
                log.info("pass failed; retrying", extra=fields | {"retry_in": wait})
                return Outcome.TRANSIENT
            case _:
                wait = self.queue.add_rate_limited(key)
                log.error("pass failed", extra=fields | {"retry_in": wait}, exc_info=error)
                return Outcome.ERROR

    def may_act(self, key: Key) -> bool:
        return self._may_act is None or self._may_act(key)

    def _report(self, outcome: Outcome, seconds: float) -> None:
        if self.on_pass is not None:
            self.on_pass(self.name, outcome, seconds)


async def _coroutine(reconcile: Reconciler, key: Key) -> Result:
    return await reconcile(key)
