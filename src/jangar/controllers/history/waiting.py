"""What has ended and is not stored yet, and what is. All of it comes from objects: it can be lost at any time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from jangar.controllers.history.ended import written_at
from kubekit.cache.object_cache import Cached, Change


@dataclass(slots=True, kw_only=True)
class Waiting:
    """An object that is to be stored as it was last seen."""

    kind: str
    seen: Cached
    since: float
    may_be_known: bool
    """It ended before we looked: an earlier process may have stored it."""
    is_gone: bool = False
    not_before: float = 0.0
    """The database refused it; it is not offered again until then."""


@dataclass(slots=True)
class Ledger:
    """Of all objects, by uid."""

    waiting: dict[str, Waiting] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    """When the status that was stored was written."""

    def heard(self, kind: str, change: Change, now: float) -> Waiting | None:
        """Take notice of a change; the answer is what is lost if it cannot be stored from memory."""
        uid = change.subject.uid
        if change.new is None:
            self.stored.pop(uid, None)
            entry = self.waiting.get(uid)
            if entry is not None:
                entry.is_gone = True
            return entry
        ended_at = written_at(change.new)
        if ended_at is not None and self.stored.get(uid) != ended_at:
            self.add(kind, change.new, now, may_be_known=change.old is None)
        return None

    def add(self, kind: str, seen: Cached, now: float, *, may_be_known: bool) -> None:
        old = self.waiting.get(seen.uid)
        self.waiting[seen.uid] = Waiting(
            kind=kind,
            seen=seen,
            since=old.since if old else now,
            may_be_known=may_be_known and (old is None or old.may_be_known),
            not_before=old.not_before if old else 0.0,
        )

    def is_pending(self, seen: Cached) -> bool:
        """Whether its end is still to be stored, or still to come."""
        return seen.uid in self.waiting or seen.uid not in self.stored

    def ready(self, now: float, is_ours: Callable[[Waiting], bool]) -> Iterator[Waiting]:
        """What may be stored now. What another process looks after is forgotten: it is seen again when that changes."""
        for uid, entry in list(self.waiting.items()):
            if not is_ours(entry):
                del self.waiting[uid]
            elif entry.not_before <= now:
                yield entry

    def done(self, entry: Waiting) -> None:
        """It is stored; a newer version of it that came meanwhile waits on."""
        uid = entry.seen.uid
        if not entry.is_gone:
            self.stored[uid] = written_at(entry.seen) or ""
        if self.waiting.get(uid) is entry:
            del self.waiting[uid]
