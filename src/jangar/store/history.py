"""The interface of the history, which stores finished objects beyond their lifetime."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from jangar.store.rows import (
    AuditRow,
    Before,
    Ended,
    EventRow,
    KeyRow,
    Known,
    Line,
    Listing,
    LogPart,
    Query,
    RunRow,
    StepRow,
    StoredObject,
)


class History(Protocol):
    """Stores finished objects durably. Every call may raise StoreError."""

    async def store(self, ended: Sequence[Ended]) -> None:
        """Store all rows or none. Idempotent; older versions of a row are ignored."""

    async def known(self, uids: Sequence[str]) -> Mapping[str, Known]:
        """Which of these objects have a row."""
        ...

    async def page(self, query: Query) -> list[RunRow]:
        """Runs that match, the last to finish first."""
        ...

    async def listed(self, listing: Listing) -> list[Line]:
        """Runs of one kind, the newest created first."""
        ...

    async def namespaces(self, kind: str) -> list[str]:
        """Namespaces that have objects of this kind."""
        ...

    async def run(self, uid: str) -> RunRow | None: ...

    async def whole(self, uid: str) -> StoredObject | None:
        """The object as it was last seen; None if only its row was stored."""
        ...

    async def steps(self, run_uid: str) -> list[StepRow]: ...

    async def log_tail(self, uid: str) -> str | None:
        """The log tail of ended work; of active work the log tails of its Jobs that ended."""
        ...

    async def add_log_parts(self, uid: str, parts: Sequence[LogPart]) -> None:
        """Append log tails of Jobs of active work; they are deleted when the work is stored with its log."""

    async def log_parts(self, uid: str) -> list[LogPart]:
        """The log tails of the Jobs of active work, the oldest first."""
        ...

    async def add_events(self, rows: Sequence[EventRow]) -> None:
        """Store Events; a repeated Event updates the count of its row."""

    async def events(self, uid: str, limit: int) -> list[EventRow]: ...

    async def add_audit(self, rows: Sequence[AuditRow]) -> None: ...

    async def audit(
        self, namespaces: Sequence[str] | None, before: int | None, limit: int
    ) -> list[AuditRow]: ...

    async def reserve(self, wanted: KeyRow) -> KeyRow:
        """The row of this key: the given one, or the one that was first."""
        ...

    async def settle(self, created: KeyRow) -> None:
        """Record the object that was created with a key."""

    async def forget(self, unused: KeyRow) -> None:
        """Delete a key with which nothing was created."""

    async def prune(self, before: Before, *, limit: int = ...) -> Mapping[str, int]:
        """Delete some old rows in a short transaction; returns their number by table.

        Repeat until all numbers are zero. They are zero at once while another process deletes.
        """
        ...

    async def close(self) -> None: ...
