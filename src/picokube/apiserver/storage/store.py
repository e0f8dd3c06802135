"""The interface of a store, its settings and its errors. Implementations pass one contract suite.

A store knows keys and bytes. It never looks into an object; whatever it indexes is passed with the bytes.

StorageError
├── CannotOpen          the data cannot be used
│   ├── InUse           another process owns it
│   ├── WrongSchema     it is not a store, or one of another version
│   └── Corrupt         it is damaged (also raised by reads)
└── ChangeFailed        nothing was written and no watcher was notified
    ├── DiskFull        the disk is full; later changes may succeed
    ├── Broken          the disk failed, and whether the change was written is unknown; later changes may succeed
    └── Closed          the store was closed before
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol


class StorageError(Exception):
    """Everything below."""


class CannotOpen(StorageError):
    """The data cannot be used. The message names the file and the problem."""

    def __init__(self, path: Path | str, found: str) -> None:
        super().__init__(f"{path}: {found}")
        self.path = path


class InUse(CannotOpen):
    """Another process owns the file."""


class WrongSchema(CannotOpen):
    """The file is something else, or was written by another version."""


class Corrupt(CannotOpen):
    """The file is damaged."""


class ChangeFailed(StorageError):
    """A change was not written and not delivered."""


class DiskFull(ChangeFailed):
    """There is no room for a change."""


class Broken(ChangeFailed):
    """The disk or the file failed under a commit. The store takes no change until it could open the file again."""


class Closed(ChangeFailed):
    """The store was closed."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How much is kept in memory, how long others are waited for, and who commits."""

    inline: bool = False
    """Commit on the event loop instead of in a thread: the same order every time, for simulations."""
    batch_changes: int = 256
    """At most so many changes share a transaction."""
    history_events: int = 8192
    history_bytes: int = 8 * 1024 * 1024
    """Newest events kept in memory, so that watches rarely read the file."""
    watch_queue_events: int = 4096
    """A watcher with more events waiting is dropped."""
    heartbeat: timedelta | None = timedelta(seconds=10)
    """A watch without events returns an empty batch this often."""
    catch_up_lease: timedelta = timedelta(seconds=30)
    """So long may a watch that still reads old history hold compaction back."""
    prune_rows: int = 256
    """Compaction walks so many rows in a transaction."""
    release_pages: int = 256
    """Compaction gives so many free pages back to the file system in a transaction."""
    spare_pages: int = 256
    """So many free pages stay in the file for the next changes."""


class Key(NamedTuple):
    """Where an object lives. `resource` is `plural.group`, or the plural alone in the core group."""

    resource: str
    namespace: str
    """Empty for what belongs to no namespace."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A committed object."""

    key: Key
    uid: str
    revision: int
    data: bytes
    """The whole object as JSON, its resourceVersion included."""
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    """Uids of its owners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Store an object. `render` gives its bytes once the revision is known."""

    uid: str
    render: Callable[[int], bytes]
    labels: Mapping[str, str] = field(default_factory=dict)
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Remove an object. `render` gives the bytes of its last state, as the DELETED event shows it."""

    render: Callable[[int], bytes]


Decision = Put | Remove | None
Change = Callable[[Stored | None], Decision | Awaitable[Decision]]
"""From the current object to its change; None changes nothing. Raises to refuse. The key is locked while
an awaitable decision is made; other keys are not blocked.
"""


class EventType(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One committed change. `previous` is what the object was before; None for a new one."""

    type: EventType
    object: Stored
    """After a removal: the last state, with the revision of the removal."""
    previous: Stored | None = None


class Compacted(Exception):
    """The history before `floor` was compacted."""

    def __init__(self, requested: int, floor: int) -> None:
        super().__init__(f"revision {requested} is older than {floor}, the oldest that is kept")
        self.requested, self.floor = requested, floor


class NotReached(Exception):
    """The requested revision is newer than the newest one."""

    def __init__(self, requested: int, newest: int) -> None:
        super().__init__(f"revision {requested} is newer than {newest}, the newest there is")
        self.requested, self.newest = requested, newest


class TooSlow(Exception):
    """A watcher did not keep up and was dropped; it lists again."""


class Snapshot(NamedTuple):
    """Objects in key order, as of one revision."""

    revision: int
    objects: Sequence[Stored]


class Watch(Protocol):
    """Batches of events, without a gap or a repeat; raises Compacted or TooSlow, ends when the store closes.

    An empty batch is a heartbeat: nothing happened for a while.
    """

    def __aiter__(self) -> AsyncIterator[Sequence[Event]]: ...

    async def __anext__(self) -> Sequence[Event]: ...

    @property
    def revision(self) -> int:
        """Everything up to this revision was delivered; bookmarks carry it."""
        ...

    async def aclose(self) -> None:
        """Stop watching. Use `contextlib.aclosing`."""
        ...


class Store(Protocol):
    """The seam. All answers are about committed state. Errors of the storage itself: `errors.py`."""

    @property
    def revision(self) -> int:
        """The newest committed revision. An empty store is at 1, never 0, which means "any" to Kubernetes."""
        ...

    @property
    def floor(self) -> int:
        """The oldest revision from which a watch may start."""
        ...

    def get(self, key: Key) -> Stored | None: ...

    def list(self, resource: str, namespace: str | None = None) -> Snapshot:
        """Everything of a resource, or of one namespace of it, in key order."""
        ...

    def list_at(self, resource: str, namespace: str | None, revision: int) -> Snapshot:
        """The same as of an older revision; raises Compacted or NotReached."""
        ...

    def owned_by(self, uid: str) -> Sequence[Stored]:
        """Everything that names this uid as an owner."""
        ...

    async def change(self, key: Key, change: Change) -> Stored | None:
        """Change one object; returns after the commit. A removed object is returned in its last state.

        What `change` raises is raised here. A caller that is cancelled after that learns nothing; the change happens.
        """
        ...

    def watch(self, resource: str, namespace: str | None, since: int) -> Watch:
        """What happens after `since`, which may lie ahead. Raises Compacted at once if it is below the floor."""
        ...

    async def compact(self, floor: int) -> None:
        """Forget history before `floor`; current objects stay, and so does what a watch is still reading."""
        ...

    async def close(self) -> None:
        """Commit queued writes and close the file."""
        ...
