"""What is not stored in history yet: ended objects and recorded events. All of it can be lost at any time."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from jangar.controllers.history.rows import end_written_at
from jangar.store.history import History
from jangar.store.rows import EventRow
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import OWNER_UID, Cached, Change
from kubekit.controller.reconcile import Key
from kubekit.events.event_recorder import RepeatedEvent

EVENT_SECONDS: Final = 5.0
"""How long events wait to be stored together with ended objects."""
MAX_EVENTS: Final = 10_000
_MANY_EVENTS: Final = 500


@dataclass(slots=True, kw_only=True)
class PendingObject:
    """An object to store as it was last observed."""

    kind: str
    cached: Cached
    since: float
    may_be_stored: bool
    """It ended before this process observed it, so another process may have stored it."""
    is_deleted: bool = False
    not_before: float = 0.0
    """The database rejected it; it is not offered again until then."""


@dataclass(frozen=True, slots=True)
class FollowedKind:
    """A kind whose ended objects are stored."""

    informer: Informer
    wake: Callable[[Key], None]
    may_act: Callable[[Key], bool]


@dataclass(slots=True)
class PendingObjects:
    """The objects that have ended and are not stored, and those that wait until they are."""

    kinds: dict[str, FollowedKind] = field(default_factory=dict)
    pending: dict[str, PendingObject] = field(default_factory=dict)
    """By uid."""
    _stored: dict[str, str] = field(default_factory=dict)
    """By uid, when the stored status was written."""
    _waiters: set[str] = field(default_factory=set)
    """Uids of objects whose controllers are notified once they are stored."""

    def update(self, kind: str, change: Change, now: float) -> PendingObject | None:
        """Apply a change; returns an object that was deleted before it was stored."""
        uid = change.subject.uid
        if change.new is None:
            self._waiters.discard(uid)
            self._stored.pop(uid, None)
            entry = self.pending.get(uid)
            if entry is not None:
                entry.is_deleted = True
            return entry
        ended_at = end_written_at(change.new)
        if ended_at is not None and self._stored.get(uid) != ended_at:
            self._add(kind, change.new, now, may_be_stored=change.old is None)
        return None

    def _add(self, kind: str, cached: Cached, now: float, *, may_be_stored: bool) -> None:
        old = self.pending.get(cached.uid)
        self.pending[cached.uid] = PendingObject(
            kind=kind,
            cached=cached,
            since=old.since if old else now,
            may_be_stored=may_be_stored and (old is None or old.may_be_stored),
            not_before=old.not_before if old else 0.0,
        )

    def is_pending(self, cached: Cached) -> bool:
        """Whether the object, or one that it owns, is not stored; its controller is then notified once it is."""
        is_pending = (
            cached.uid in self.pending
            or cached.uid not in self._stored
            or self._has_pending_children(cached.uid)
        )
        if is_pending:
            self._waiters.add(cached.uid)
        return is_pending

    def _has_pending_children(self, uid: str) -> bool:
        return any(
            child.uid in self.pending or self._has_pending_children(child.uid)
            for followed in self.kinds.values()
            for child in followed.informer.cache.by(OWNER_UID, uid)
        )

    def forget_stored(self, uid: str) -> None:
        """Store the object again: there is more to store of it."""
        self._stored.pop(uid, None)

    def ready(self, now: float) -> Iterator[PendingObject]:
        """What may be stored now. Objects of other processes are dropped, and added again once this one owns them."""
        for uid, entry in list(self.pending.items()):
            key = Key(entry.cached.namespace, entry.cached.name)
            if not (entry.is_deleted or self.kinds[entry.kind].may_act(key)):
                del self.pending[uid]
            elif entry.not_before <= now:
                yield entry

    def mark_stored(self, entry: PendingObject) -> None:
        """The object is stored; if a newer version was observed meanwhile, that one stays pending."""
        uid = entry.cached.uid
        if not entry.is_deleted:
            self._stored[uid] = end_written_at(entry.cached) or ""
        if self.pending.get(uid) is entry:
            del self.pending[uid]

    def wake_waiters(self, entry: PendingObject) -> None:
        """Wake the controllers of the object and of its owners, if they wait."""
        kind, cached = entry.kind, entry.cached
        while True:
            if cached.uid in self._waiters:
                self._waiters.discard(cached.uid)
                self.kinds[kind].wake(Key(cached.namespace, cached.name))
            owner = self._owner(cached)
            if owner is None:
                return
            kind, cached = owner

    def root_uid(self, cached: Cached) -> str:
        """The uid of the topmost run that the caches have."""
        while (owner := self._owner(cached)) is not None:
            _, cached = owner
        return cached.controller.uid if cached.controller is not None else cached.uid

    def _owner(self, cached: Cached) -> tuple[str, Cached] | None:
        """The kind and object of the run that owns a step's child, if the caches have it."""
        owner = cached.controller
        if owner is None or owner.kind not in self.kinds:
            return None
        run = self.kinds[owner.kind].informer.cache.get(cached.namespace, owner.name)
        return (owner.kind, run) if run is not None and run.uid == owner.uid else None

    def oldest_age(self, now: float) -> float:
        """Seconds that the oldest entry has waited."""
        since = min((entry.since for entry in self.pending.values()), default=None)
        return 0.0 if since is None else max(0.0, now - since)


class PendingEvents:
    """Recorded events that are not stored."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._pending: OrderedDict[tuple[str, str, str, str], RepeatedEvent] = OrderedDict()
        self._since = 0.0

    def add(self, event: RepeatedEvent) -> None:
        """Add an event, or a newer count of the same one; the oldest are dropped beyond MAX_EVENTS."""
        if not self._pending:
            self._since = asyncio.get_running_loop().time()
        self._pending[event.same] = event
        while len(self._pending) > MAX_EVENTS:
            self._pending.popitem(last=False)

    def is_due(self, now: float) -> bool:
        """Whether they should be stored even if nothing has ended."""
        return len(self._pending) > _MANY_EVENTS or (
            bool(self._pending) and now - self._since >= EVENT_SECONDS
        )

    async def store(self, history: History) -> None:
        """Store all events; they stay pending if that fails."""
        events = list(self._pending.values())
        if not events:
            return
        await history.add_events([self._row(event) for event in events])
        for event in events:
            if self._pending.get(event.same) == event:
                del self._pending[event.same]

    def _row(self, event: RepeatedEvent) -> EventRow:
        return EventRow(
            uid=event.uid,
            type=event.type,
            reason=event.reason,
            message=event.message,
            source=self._source,
            count=event.count,
            first_at=event.first,
            last_at=event.last,
        )
