"""Stores what has ended, beside the passes that end it, and says what may be deleted.

Whether a row exists is for the database to say: nothing in an object claims it, so a row costs no write to the API and
a database that was lost is filled again. A database that is out of reach delays deletion and nothing else.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from jangar.api.reasons import Reason
from jangar.controllers.history.ended import ended, written_at
from jangar.controllers.history.event_buffer import PendingEvents
from jangar.controllers.history.waiting import Ledger, Waiting
from jangar.controllers.log_tails import LogTails
from jangar.controllers.orchestrationrun.definitions import recorded_snapshot, snapshot_in
from jangar.controllers.orchestrationrun.record import read_steps
from jangar.controllers.resources import reference_to
from jangar.domain.times import parse_rfc3339
from jangar.store.errors import Refused, StoreError
from jangar.store.history import History
from jangar.store.rows import Before, Ended, Known
from kubekit.cache.indexers import OWNER_UID
from kubekit.cache.informer import Change, Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import ApiError, NotFound
from kubekit.controller.backoff import Backoff
from kubekit.controller.reconcile import Key
from kubekit.events.event_recorder import EventRecorder

log = logging.getLogger(__name__)

BATCH: Final = 100
LINGER_SECONDS: Final = 0.25
"""How long a row waits for others, and for the last lines of its log."""
BACKOFF: Final = Backoff(first=0.5, limit=15.0)
REFUSED_SECONDS: Final = 300.0
EVENT_SECONDS: Final = 5.0
TIDY_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Followed:
    """A kind whose objects are stored."""

    informer: Informer
    wake: Callable[[Key], None]
    may_act: Callable[[Key], bool]


@dataclass(slots=True)
class Counts:
    """What became of rows since the start."""

    stored: int = 0
    failures: int = 0
    deleted: Counter[str] = field(default_factory=Counter)
    """By what they were of: runs, steps, events and so on."""


@dataclass(slots=True, kw_only=True)
class HistoryKeeper:
    """Follows kinds; `run` is called once and ends only by cancellation."""

    open_history: Callable[[], Awaitable[History]]
    client: Client
    recorder: EventRecorder
    logs: LogTails | None = None
    log_retention: timedelta | None = None
    """How long stored tails of logs are kept; None for ever."""
    retention: timedelta | None = None
    """How long everything else that is stored is kept; None for ever."""
    random: Callable[[], float] = random.random
    counts: Counts = field(default_factory=Counts)
    _ledger: Ledger = field(default_factory=Ledger)
    _kinds: dict[str, Followed] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)
    _parts: set[tuple[str, str]] = field(default_factory=set)
    """Work of which a log was kept that history does not have yet."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _reported: PendingEvents = field(init=False)
    _tidied: float = float("-inf")
    _is_tidying: bool = False

    def __post_init__(self) -> None:
        self._reported = PendingEvents(source=self.recorder.component)
        self.recorder.on_recorded = self._reported.add

    def follow(
        self, informer: Informer, *, wake: Callable[[Key], None], may_act: Callable[[Key], bool]
    ) -> None:
        """Store the objects of this kind; `wake` is told the key of one that somebody asked about."""
        kind = informer.resource.kind
        self._kinds[kind] = Followed(informer, wake, may_act)
        informer.subscribe(lambda change: self._heard(kind, change))

    def is_pending(self, seen: Cached) -> bool:
        """Whether it, or something that belongs to it, is not stored yet; who asks is woken when it is."""
        found = self._ledger.is_pending(seen) or self._has_pending_children(seen.uid)
        if found:
            self._asked.add(seen.uid)
        return found

    def look_at_all(self) -> None:
        """From now on this process acts: what another one left is stored by us."""
        for kind, followed in self._kinds.items():
            for item in followed.informer.cache.all():
                self._heard(kind, Change("added", None, item))

    def tail_kept(self, namespace: str, uid: str, is_part: bool) -> None:
        """The last lines of a log are there; the row may be stored without them already, or not be due yet."""
        if is_part:
            self._parts.add((namespace, uid))
            self._news.set()
        for kind, followed in self._kinds.items():
            for item in followed.informer.cache.by("uid", uid):
                if item.namespace == namespace and written_at(item) is not None:
                    self._ledger.stored.pop(uid, None)
                    self._heard(kind, Change("changed", item, item))

    @property
    def pending_count(self) -> int:
        return len(self._ledger.waiting)

    def oldest_age(self) -> float:
        """Seconds that the first in line has waited."""
        since = min((item.since for item in self._ledger.waiting.values()), default=None)
        return 0.0 if since is None else max(0.0, _clock() - since)

    async def run(self) -> None:
        history: History | None = None
        failures = 0
        try:
            while True:
                await self._something()
                await asyncio.sleep(LINGER_SECONDS)
                batch = self._batch()
                if not (batch or self._parts or self._reported.is_due(_clock()) or self._is_untidy()):
                    await self._rest()
                    continue
                try:
                    history = history or await self.open_history()
                    await self._store_parts(history)
                    await self._store(history, batch)
                    await self._reported.store(history)
                    await self._tidy(history)
                    failures = 0
                except (StoreError, ApiError, OSError) as error:
                    wait = BACKOFF.delay(failures, self.random)
                    failures += 1
                    self.counts.failures += 1
                    log.warning(
                        "history is not stored yet; deletion waits for it",
                        extra={"reason": str(error), "rows": self.pending_count, "again_in": round(wait, 1)},
                    )
                    await asyncio.sleep(wait)
        finally:
            if history is not None:
                await history.close()

    async def _something(self) -> None:
        """Until something has ended, or events have waited for long enough."""
        if self._is_tidying:
            return
        try:
            async with asyncio.timeout(EVENT_SECONDS):
                await self._news.wait()
        except TimeoutError:
            return

    def _is_untidy(self) -> bool:
        """Whether old rows are to be looked for now: at the start and once an hour, also where nothing ends."""
        is_due = self.retention is not None and _clock() - self._tidied > TIDY_SECONDS
        return is_due or self._is_tidying

    async def _tidy(self, history: History) -> None:
        """Delete some of what is too old; what has ended meanwhile is stored before more is deleted."""
        if (self.retention is None and self.log_retention is None) or _clock() - self._tidied <= TIDY_SECONDS:
            return
        now = datetime.now(UTC)
        gone = await history.prune(
            Before(
                runs=now - self.retention if self.retention is not None else None,
                tails=now - self.log_retention if self.log_retention is not None else None,
            )
        )
        self.counts.deleted.update(gone)
        self._is_tidying = any(gone.values())
        if not self._is_tidying:
            self._tidied = _clock()

    async def _rest(self) -> None:
        """Nothing can be stored now: until something changes, or what was refused may be offered again."""
        self._news.clear()
        if self._ledger.waiting:
            await asyncio.sleep(1.0)
            self._news.set()

    def _heard(self, kind: str, change: Change) -> None:
        lost = self._ledger.heard(kind, change, _clock())
        if change.new is None:
            self._asked.discard(change.subject.uid)
        if lost is not None:
            self._warn(lost)
        if self._ledger.waiting:
            self._news.set()

    def _warn(self, lost: Waiting) -> None:
        self.recorder.record(
            reference_to(self._kinds[lost.kind].informer.resource, lost.seen),
            type="Warning",
            reason=Reason.HISTORY_NOT_STORED,
            message="deleted before its history was stored: it is stored from memory once the database answers",
        )

    def _batch(self) -> list[Waiting]:
        def is_ours(entry: Waiting) -> bool:
            return entry.is_gone or self._kinds[entry.kind].may_act(
                Key(entry.seen.namespace, entry.seen.name)
            )

        ready = self._ledger.ready(_clock(), is_ours)
        return [entry for entry, _ in zip(ready, range(BATCH), strict=False)]

    async def _store_parts(self, history: History) -> None:
        """Logs of work of several Jobs that may go on for long, and in another process."""
        for namespace, uid in sorted(self._parts):
            parts = await self.logs.parts(namespace, uid) if self.logs is not None else []
            try:
                await history.add_log_parts(uid, parts)
            except Refused as error:
                self.counts.failures += 1
                log.error(  # noqa: TRY400 - the database's own words say it
                    "the database refuses the log of a Job", extra={"reason": str(error), "uid": uid}
                )
            self._parts.discard((namespace, uid))

    async def _store(self, history: History, batch: Sequence[Waiting]) -> None:
        left = await self._unknown(history, batch)
        rows = [await self._row(item, history) for item in left]
        try:
            await history.store(rows)
        except Refused:
            await self._store_singly(history, left, rows)
        else:
            self._done(left)

    async def _store_singly(self, history: History, batch: Sequence[Waiting], rows: Sequence[Ended]) -> None:
        """One that the database will not take holds nobody else up."""
        for entry, row in zip(batch, rows, strict=True):
            try:
                await history.store([row])
            except Refused as error:
                entry.not_before = _clock() + REFUSED_SECONDS
                self.counts.failures += 1
                log.error(  # noqa: TRY400 - the database's own words say it
                    "the database refuses a row of history",
                    extra={"reason": str(error), "kind": entry.kind, "object": entry.seen.name},
                )
            else:
                self._done([entry])

    async def _unknown(self, history: History, batch: Sequence[Waiting]) -> list[Waiting]:
        """Without those that an earlier process has stored as they are."""
        asked = [item.seen.uid for item in batch if item.may_be_known]
        known = await history.known(asked) if asked else {}
        left = []
        for item in batch:
            row, at = known.get(item.seen.uid), written_at(item.seen)
            if row and at and row.updated_at >= parse_rfc3339(at) and not self._lacks_tail(row, item.seen):
                self._done([item], is_new=False)
            else:
                left.append(item)
        return left

    def _lacks_tail(self, row: Known, seen: Cached) -> bool:
        return not row.has_log_tail and self._has_tail(seen)

    def _has_tail(self, seen: Cached) -> bool:
        """Whether the ends of its logs are there, the last one's too: what is stored first is what is stored."""
        if self.logs is None:
            return False
        files, status = self.logs.files, seen.view.get("status") or {}
        if files.has(seen.namespace, seen.uid, (status.get("job") or {}).get("name")):
            return True
        left_nothing = (status.get("outcome") or {}).get("exitCode") is None
        return left_nothing and files.has_any(seen.namespace, seen.uid)

    async def _row(self, entry: Waiting, history: History) -> Ended:
        seen = entry.seen
        steps = await read_steps(self.client, seen, seen.view.get("status") or {})
        tail = await self._tail(seen, history) if self._has_tail(seen) else None
        return ended(
            entry.kind,
            seen,
            root_uid=self._root(seen),
            steps=steps or None,
            log_tail=tail,
            definition=await self._definition(seen),
        )

    async def _tail(self, seen: Cached, history: History) -> str | None:
        """What is kept here, after what another process kept of the same work before."""
        if self.logs is None:
            return None
        here = await self.logs.read(seen.namespace, seen.uid)
        own = {part.job for part in await self.logs.parts(seen.namespace, seen.uid)}
        if not own or here is None:
            return here
        before = [log_part.text for log_part in await history.log_parts(seen.uid) if log_part.job not in own]
        return "".join([*before, here])

    async def _definition(self, seen: Cached) -> bytes | None:
        """What a run executed, as it was pinned for it."""
        reference = (seen.view.get("status") or {}).get("snapshotRef") or {}
        if not reference.get("name"):
            return None
        try:
            obj = await self.client.get(CONFIG_MAPS, reference["name"], seen.namespace)
        except NotFound:
            return None
        return snapshot_in(obj) if recorded_snapshot(obj, seen.uid, reference) is not None else None

    def _root(self, seen: Cached) -> str:
        """The run at the top, as far as the caches know the way."""
        while (above := self._owner(seen)) is not None:
            _, seen = above
        return seen.controller.uid if seen.controller is not None else seen.uid

    def _done(self, batch: Sequence[Waiting], *, is_new: bool = True) -> None:
        self.counts.stored += len(batch) if is_new else 0
        for entry in batch:
            self._ledger.done(entry)
        for entry in batch:
            self._wake(entry)

    def _wake(self, entry: Waiting) -> None:
        """The object and the runs above it, if they asked."""
        kind, seen = entry.kind, entry.seen
        while True:
            if seen.uid in self._asked:
                self._asked.discard(seen.uid)
                self._kinds[kind].wake(Key(seen.namespace, seen.name))
            above = self._owner(seen)
            if above is None:
                return
            kind, seen = above

    def _owner(self, seen: Cached) -> tuple[str, Cached] | None:
        """The run that it is a step of, if it is known."""
        owner = seen.controller
        if owner is None or owner.kind not in self._kinds:
            return None
        found = self._kinds[owner.kind].informer.cache.get(seen.namespace, owner.name)
        return (owner.kind, found) if found is not None and found.uid == owner.uid else None

    def _has_pending_children(self, uid: str) -> bool:
        for followed in self._kinds.values():
            for child in followed.informer.cache.by(OWNER_UID, uid):
                if child.uid in self._ledger.waiting or self._has_pending_children(child.uid):
                    return True
        return False


def _clock() -> float:
    return asyncio.get_running_loop().time()
