"""Workers that take keys and reconcile them: errors, time limits, authority. Knows nothing of what is reconciled.

One key is never in two passes at once. A pass that fails is tried again: soon after a conflict, with growing waits
after anything else, not at all after a TerminalError.
"""

import asyncio
import logging
import random as chance
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeAlias, assert_never

from kubekit.cache.informer import Change, Handler, Informer
from kubekit.client.errors import ApiError, Conflict, is_transient
from kubekit.controller.backoff import Backoff
from kubekit.controller.fence import acting_on
from kubekit.controller.quarantine import MAX_TIMEOUTS, Quarantine
from kubekit.controller.reconcile import Done, Key, LookAgain, Reconciler, Result, TerminalError
from kubekit.controller.sources import Mapping, own_key
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.watchdog import PassTooLong, Watchdog
from kubekit.controller.workqueue import ShutDown, WorkQueue

log = logging.getLogger(__name__)

CONFLICT_BACKOFF = Backoff(first=0.005, limit=1.0)
_STUCK_LIMITS = 2
"""After so many time limits a pass that ignores its cancellation is told as stuck."""


class Outcome(StrEnum):
    """How a pass ended, as metrics say it."""

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
"""Told the controller, how the pass ended and how many seconds it took."""


class Authority(Protocol):
    """Whether this process may act on a key now; asked before each pass, again while it runs when it is lost."""

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
        random: Callable[[], float] = chance.random,
        haste: UrgentWorkGate | None = None,
        quarantine: Quarantine | None = None,
    ) -> None:
        self.name = name
        self.quarantine = Quarantine() if quarantine is None else quarantine
        self.watchdog: Watchdog | None = None
        """Watches the pieces of passes, where there is one."""
        self.queue: WorkQueue[Key] = WorkQueue(backoff=backoff, random=random, haste=haste)
        self.informers: list[Informer] = []
        """Every informer it watches; none of its passes runs before all are synced."""
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
        """Have the keys that `mapping` names looked at whenever an object of the informer changes, or so much later.

        `first` says that they go before all that wait, in whichever queue that shares the haste. How much later is
        asked only of a change that names a key.
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
        """Have the key looked at."""
        self.queue.add(key)

    def enqueue_all(self) -> None:
        """Have everything looked at that the caches hold: for a process that has just been given authority."""
        for informer, handle in self._sources:
            for each in informer.cache.all():
                handle(Change(kind="added", old=None, new=each))

    @property
    def under_way(self) -> list[Key]:
        """The keys that passes are at work on."""
        return list(self._passes)

    def abandon_lost(self, may_go_on: Authority | None = None) -> None:
        """End the passes under way whose key this process may not act on any more.

        `may_go_on` lets those end by themselves whose like would not be begun.
        """
        now = asyncio.get_running_loop().time()
        goes_on = may_go_on or self.may_act
        for key, limit in self._passes.items():
            if not limit.expired() and not goes_on(key):
                limit.reschedule(now)

    async def run(self) -> None:
        """Work until `stop`; then the passes under way are finished and it returns."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._workers):
                group.create_task(self._work(), name=f"{self.name}-worker-{number}")

    def stop(self) -> None:
        """Begin no further pass."""
        self.queue.shut_down()

    def problems(self) -> list[str]:
        """Why it should be restarted, as sentences."""
        longest = self.queue.longest_processing()
        if longest is None or longest[1] <= _STUCK_LIMITS * self._time_limit:
            return []
        key, seconds = longest
        return [f"controller {self.name}: a pass over {key} has run for {seconds:.0f} s and does not end"]

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
            # A pass with nothing to do never waits: thousands of them must not keep the loop from others.
            await asyncio.sleep(0)

    async def _pass(self, key: Key) -> None:
        if not self.may_act(key):
            self.queue.forget(key)
            self._note(Outcome.NOT_OURS, 0.0)
            return
        if self.quarantine.holds(key):
            self.queue.forget(key)
            self._note(Outcome.QUARANTINED, 0.0)
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        limit = asyncio.timeout(self._time_limit)
        self._passes[key] = limit
        try:
            with acting_on(key):
                async with limit:
                    outcome = self._after(key, await self._guarded(key))
        except Exception as error:  # noqa: BLE001 (a reconciler's error is told and tried again here, and only here)
            outcome = self._after_error(key, error, ran_out=limit.expired())
            await self._quarantine_after(key, outcome)
        else:
            self.quarantine.passed(key)
        finally:
            del self._passes[key]
        self._note(outcome, loop.time() - began)

    async def _guarded(self, key: Key) -> Result:
        if self.watchdog is None:
            return await self._reconcile(key)
        return await self.watchdog.guarded(_coroutine(self._reconcile, key), f"{self.name} {key}")

    async def _quarantine_after(self, key: Key, outcome: Outcome) -> None:
        """An object whose passes do not end is left alone until somebody changes it."""
        match outcome:
            case Outcome.ABORTED:
                reason = "a pass over it held the event loop for too long and was aborted"
            case Outcome.TIMED_OUT if self.quarantine.timed_out(key):
                reason = f"{MAX_TIMEOUTS} passes over it in a row did not end within {self._time_limit:.0f} s"
            case _:
                return
        log.error("object quarantined", extra={"controller": self.name, "key": str(key), "reason": reason})
        try:
            async with asyncio.timeout(self._time_limit):
                await self.quarantine.add(key, reason)
        except (ApiError, TimeoutError) as error:
            told = {"controller": self.name, "key": str(key), "error": str(error)}
            log.warning("quarantine not recorded on the object", extra=told)

    def _after(self, key: Key, result: Result) -> Outcome:
        self.queue.forget(key)
        match result:
            case Done():
                return Outcome.DONE
            case LookAgain(after=seconds):
                self.queue.add_after(key, seconds)
                return Outcome.LOOK_AGAIN
            case _:
                assert_never(result)

    def _after_error(self, key: Key, error: Exception, *, ran_out: bool) -> Outcome:
        told = {"controller": self.name, "key": str(key), "error": str(error)}
        if ran_out and not self.may_act(key):
            self.queue.forget(key)
            log.info("pass abandoned: no authority over the object any more", extra=told)
            return Outcome.ABANDONED
        match error:
            case TimeoutError() if ran_out:
                wait = self.queue.add_rate_limited(key)
                log.warning(
                    "pass ran out of time", extra=told | {"limit": self._time_limit, "again_in": wait}
                )
                return Outcome.TIMED_OUT
            case PassTooLong():
                wait = self.queue.add_rate_limited(key)
                log.error("pass aborted: it held the event loop", extra=told | {"again_in": wait})
                return Outcome.ABORTED
            case Conflict():
                wait = self.queue.add_rate_limited(key, backoff=CONFLICT_BACKOFF)
                log.debug("pass met a newer version", extra=told | {"again_in": wait})
                return Outcome.CONFLICT
            case TerminalError():
                self.queue.forget(key)
                log.warning("pass failed for good", extra=told)
                return Outcome.TERMINAL
            case ApiError() if is_transient(error):
                wait = self.queue.add_rate_limited(key, at_least=error.retry_after or 0.0)
                log.info("pass failed for now", extra=told | {"again_in": wait})
                return Outcome.TRANSIENT
            case _:
                wait = self.queue.add_rate_limited(key)
                log.error("pass failed", extra=told | {"again_in": wait}, exc_info=error)
                return Outcome.ERROR

    def may_act(self, key: Key) -> bool:
        return self._may_act is None or self._may_act(key)

    def _note(self, outcome: Outcome, seconds: float) -> None:
        if self.on_pass is not None:
            self.on_pass(self.name, outcome, seconds)


async def _coroutine(reconcile: Reconciler, key: Key) -> Result:
    return await reconcile(key)
