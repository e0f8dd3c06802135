"""What the server needs of a store: read, change, watch, compact. Implementations pass one contract suite.

A store knows keys and bytes. It never looks into an object; what must be found is handed to it with the bytes.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
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


Change = Callable[[Stored | None], Put | Remove | None]
"""From the object as it is to what becomes of it; None leaves it. Raises to refuse. Must not await."""


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


class TooSlow(Exception):
    """A watcher did not keep up and was dropped; it lists again."""


class Snapshot(NamedTuple):
    """Objects in key order, as of one revision."""

    revision: int
    objects: Sequence[Stored]


class Store(Protocol):
    """The seam. All answers are about committed state."""

    @property
    def revision(self) -> int:
        """The newest committed revision."""
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
        """The same as of an older revision; raises Compacted."""
        ...

    def owned_by(self, uid: str) -> Sequence[Stored]:
        """Everything that names this uid as an owner."""
        ...

    async def change(self, key: Key, change: Change) -> Stored | None:
        """Change one object; returns after the commit. What was removed is returned as its last state."""
        ...

    def watch(self, resource: str, namespace: str | None, since: int) -> AsyncIterator[Sequence[Event]]:
        """Batches of events after `since`, without a gap or a repeat; raises Compacted or TooSlow.

        An empty batch is a heartbeat: everything up to `revision` was delivered.
        """
        ...

    async def compact(self, floor: int) -> None:
        """Forget history before `floor`; current objects stay."""
        ...

    async def close(self) -> None:
        """Commit what is queued and let go of the file."""
        ...
