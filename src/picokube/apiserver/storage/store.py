"""What the server needs of a store: read, change, watch, compact. Implementations pass one contract suite.

A store knows keys and bytes. It never looks into an object; what must be found is handed to it with the bytes.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol


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
"""From the object as it is to what becomes of it; None leaves it. Raises to refuse. Nobody else changes the key while
an awaitable decision is made; other keys go on.
"""


class EventType(StrEnum):
    """What a watcher is told."""

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
    """The history before `floor` is gone."""

    def __init__(self, asked: int, floor: int) -> None:
        super().__init__(f"revision {asked} is older than {floor}, the oldest that is kept")
        self.asked, self.floor = asked, floor


class NotReached(Exception):
    """A state was asked for that is not there yet."""

    def __init__(self, asked: int, newest: int) -> None:
        super().__init__(f"revision {asked} is newer than {newest}, the newest there is")
        self.asked, self.newest = asked, newest


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
        """Everything up to here was delivered; what a bookmark says."""
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
        """Change one object; returns after the commit. What was removed is returned as its last state.

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
