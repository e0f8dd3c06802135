"""Stores ended objects and events in the database, independently of reconciles, and says what may be deleted.

Only the database knows whether a row exists: objects carry no mark of it, so a row costs no API write, and a lost
database is filled again. An unreachable database delays deletion and nothing else.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from jangar.api.reasons import Reason
from jangar.controllers.history.pending import (
    EVENT_SECONDS,
    FollowedKind,
    PendingEvents,
    PendingObject,
    PendingObjects,
)
from jangar.controllers.history.rows import RowReader, end_written_at
from jangar.controllers.log_tails import LogTails
from jangar.controllers.resources import reference_to
from jangar.store.errors import Refused, StoreError
from jangar.store.history import History
from jangar.store.rows import Before, Ended
from kubekit.cache.informer import Change, Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.errors import ApiError
from kubekit.controller.reconcile import Key
from kubekit.controller.workqueue import Backoff
from kubekit.events.event_recorder import EventRecorder

log = logging.getLogger(__name__)

BATCH: Final = 100
LINGER_SECONDS: Final = 0.25
"""How long a row waits for others and for its log tail."""
BACKOFF: Final = Backoff(first=0.5, limit=15.0)
REJECTED_SECONDS: Final = 300.0
"""Delay before a row that the database rejected is offered again."""
PRUNE_INTERVAL_SECONDS: Final = 3600.0


@dataclass(slots=True)
class Counts:
    """Rows since the start."""

    stored: int = 0
    failures: int = 0
    deleted: Counter[str] = field(default_factory=Counter)
    """By table: runs, steps, events and so on."""


@dataclass(slots=True)
class HistoryPruner:
    """Deletes old rows, at the start and once an hour."""

    retention: timedelta | None
    """How long rows are kept; None means forever."""
    log_retention: timedelta | None
    """How long log tails are kept; None means forever."""
    deleted: Counter[str]
    is_pruning: bool = False
    """Whether the last deletion left more to delete."""
    _pruned_at: float = float("-inf")

    @property
    def is_due(self) -> bool:
        """Whether rows are deleted now, even if nothing is to be stored."""
        return self.is_pruning or (self.retention is not None and self._interval_is_over())

    def _interval_is_over(self) -> bool:
        return _clock() - self._pruned_at > PRUNE_INTERVAL_SECONDS

    async def prune(self, history: History) -> None:
        """Delete some of the old rows; ended objects are stored before more is deleted."""
        has_limit = self.retention is not None or self.log_retention is not None
        if not has_limit or not self._interval_is_over():
            return
        now = datetime.now(UTC)
        deleted = await history.prune(
            Before(
                runs=now - self.retention if self.retention is not None else None,
                tails=now - self.log_retention if self.log_retention is not None else None,
            )
        )
        self.deleted.update(deleted)
        self.is_pruning = any(deleted.values())
        if not self.is_pruning:
            self._pruned_at = _clock()


class HistoryKeeper:
    """Follows kinds and stores their ended objects; `run` is called once and ends only by cancellation."""

    def __init__(
        self,
        *,
        open_history: Callable[[], Awaitable[History]],
        client: Client,
        recorder: EventRecorder,
        logs: LogTails | None = None,
        log_retention: timedelta | None = None,
        retention: timedelta | None = None,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.counts = Counts()
        self.logs = logs
        self._open_history = open_history
        self._recorder = recorder
        self._random = random
        self._objects = PendingObjects()
        self._events = PendingEvents(source=recorder.component)
        self._rows = RowReader(client, logs, self._objects.root_uid)
        self._pruner = HistoryPruner(retention, log_retention, self.counts.deleted)
        self._log_parts: set[tuple[str, str]] = set()
        """Namespace and uid of work with several Jobs that has log tails which are not stored."""
        self._changed = asyncio.Event()
        recorder.on_recorded = self._events.add

    def follow(
        self, informer: Informer, *, wake: Callable[[Key], None], may_act: Callable[[Key], bool]
    ) -> None:
        """Store the ended objects of this kind; `wake` is called for those that `is_pending` was called for."""
        kind = informer.resource.kind
        self._objects.kinds[kind] = FollowedKind(informer, wake, may_act)
        informer.subscribe(lambda change: self._update(kind, change))

    def is_pending(self, cached: Cached) -> bool:
        """Whether the object, or one that it owns, is not stored; its controller is then notified once it is."""
        return self._objects.is_pending(cached)

    def resync(self) -> None:
        """Store every ended object that is not stored: another process may have left some."""
        for kind, followed in self._objects.kinds.items():
            for cached in followed.informer.cache.all():
                self._update(kind, Change("added", None, cached))

    def tail_kept(self, namespace: str, uid: str, is_part: bool) -> None:
        """A log tail is there; the row may have been stored without it, or not be due yet."""
        if is_part:
            self._log_parts.add((namespace, uid))
            self._changed.set()
        for kind, followed in self._objects.kinds.items():
            for cached in followed.informer.cache.by("uid", uid):
                if cached.namespace == namespace and end_written_at(cached) is not None:
                    self._objects.forget_stored(uid)
                    self._update(kind, Change("changed", cached, cached))

    @property
    def pending_count(self) -> int:
        """Number of objects that are not stored."""
        return len(self._objects.pending)

    def oldest_age(self) -> float:
        """Seconds that the oldest of them has waited."""
        return self._objects.oldest_age(_clock())

    async def run(self) -> None:
        """Store until cancelled."""
        history: History | None = None
        failures = 0
        try:
            while True:
                await self._wait_for_change()
                await asyncio.sleep(LINGER_SECONDS)
                batch = list(islice(self._objects.ready(_clock()), BATCH))
                if not (batch or self._log_parts or self._events.is_due(_clock()) or self._pruner.is_due):
                    await self._rest()
                    continue
                try:
                    history = history or await self._open_history()
                    await self._store_log_parts(history)
                    await self._store(history, batch)
                    await self._events.store(history)
                    await self._pruner.prune(history)
                    failures = 0
                except (StoreError, ApiError, OSError) as error:
                    wait = BACKOFF.delay(failures, self._random)
                    failures += 1
                    self.counts.failures += 1
                    log.warning(
                        "history is not stored yet; deletion waits for it",
                        extra={
                            "reason": str(error),
                            "rows": self.pending_count,
                            "retry_in": round(wait, 1),
                        },
                    )
                    await asyncio.sleep(wait)
        finally:
            if history is not None:
                await history.close()

    async def _wait_for_change(self) -> None:
        """Wait until something has ended, or events have waited for long enough."""
        if self._pruner.is_pruning:
            return
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            return

    async def _rest(self) -> None:
        """Nothing can be stored now: wait for a change, or until rejected rows may be offered again."""
        self._changed.clear()
        if self._objects.pending:
            await asyncio.sleep(1.0)
            self._changed.set()

    def _update(self, kind: str, change: Change) -> None:
        lost = self._objects.update(kind, change, _clock())
        if lost is not None:
            self._recorder.record(
                reference_to(self._objects.kinds[lost.kind].informer.resource, lost.cached),
                type="Warning",
                reason=Reason.HISTORY_NOT_STORED,
                message="deleted before its history was stored; it is stored from memory once the database responds",
            )
        if self._objects.pending:
            self._changed.set()

    async def _store_log_parts(self, history: History) -> None:
        """Store the log tails of work with several Jobs, which may continue for long, and in another process."""
        for namespace, uid in sorted(self._log_parts):
            parts = await self.logs.parts(namespace, uid) if self.logs is not None else []
            try:
                await history.add_log_parts(uid, parts)
            except Refused as error:
                self._count_rejection("log", error, uid=uid)
            self._log_parts.discard((namespace, uid))

    async def _store(self, history: History, batch: Sequence[PendingObject]) -> None:
        entries = await self._without_stored(history, batch)
        rows = [await self._rows.read(entry.kind, entry.cached, history) for entry in entries]
        try:
            await history.store(rows)
        except Refused:
            await self._store_singly(history, entries, rows)
        else:
            self._stored(entries)

    async def _store_singly(
        self, history: History, batch: Sequence[PendingObject], rows: Sequence[Ended]
    ) -> None:
        """A row that the database rejects must not block the others."""
        for entry, row in zip(batch, rows, strict=True):
            try:
                await history.store([row])
            except Refused as error:
                entry.not_before = _clock() + REJECTED_SECONDS
                self._count_rejection("row", error, kind=entry.kind, object=entry.cached.name)
            else:
                self._stored([entry])

    def _count_rejection(self, item: str, error: Refused, **fields: str) -> None:
        self.counts.failures += 1
        log.error("database rejected history", extra={"item": item, "reason": str(error), **fields})

    async def _without_stored(self, history: History, batch: Sequence[PendingObject]) -> list[PendingObject]:
        """The entries that no other process has stored as they are."""
        uids = [entry.cached.uid for entry in batch if entry.may_be_stored]
        known = await history.known(uids) if uids else {}
        missing = []
        for entry in batch:
            row = known.get(entry.cached.uid)
            if row is not None and self._rows.is_complete(row, entry.cached):
                self._stored([entry], is_new=False)
            else:
                missing.append(entry)
        return missing

    def _stored(self, entries: Sequence[PendingObject], *, is_new: bool = True) -> None:
        self.counts.stored += len(entries) if is_new else 0
        for entry in entries:
            self._objects.mark_stored(entry)
        for entry in entries:
            self._objects.wake_waiters(entry)


def _clock() -> float:
    return asyncio.get_running_loop().time()
