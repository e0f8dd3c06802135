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
        """The last to finish first."""
        ...

    async def listed(self, listing: Listing) -> list[Line]:
        """The newest created first."""
        ...

    async def namespaces(self, kind: str) -> list[str]:
        """Those that have something of this kind."""
        ...

    async def run(self, uid: str) -> RunRow | None: ...

    async def whole(self, uid: str) -> StoredObject | None:
        """The object as it was last seen; None for one that was stored before objects were."""
        ...

    async def steps(self, run_uid: str) -> list[StepRow]: ...

    async def log_tail(self, uid: str) -> str | None:
        """The ends of its logs; of work that has not ended, those of its Jobs that have."""
        ...

    async def add_log_parts(self, uid: str, parts: Sequence[LogPart]) -> None:
        """Logs of Jobs of work that goes on; forgotten when the work is stored with its log."""

    async def log_parts(self, uid: str) -> list[LogPart]:
        """Those, the oldest first."""
        ...

    async def add_events(self, rows: Sequence[EventRow]) -> None:
        """Store Events; a repeated Event updates the count of its row."""

    async def events(self, uid: str, limit: int) -> list[EventRow]: ...

    async def add_audit(self, rows: Sequence[AuditRow]) -> None: ...

    async def audit(
        self, namespaces: Sequence[str] | None, before: int | None, limit: int
    ) -> list[AuditRow]: ...

    async def reserve(self, wanted: KeyRow) -> KeyRow:
        """The row of this key: the one given, or the one that came first."""
        ...

    async def settle(self, made: KeyRow) -> None:
        """Record what was created with a key."""

    async def forget(self, unused: KeyRow) -> None:
        """Remove a key with which nothing was created."""

    async def prune(self, before: Before, *, limit: int = ...) -> Mapping[str, int]:
        """Delete some of what is older: how many rows of what, in a short transaction.

        Ask again until all are zero; they are that at once while another process deletes.
        """
        ...

    async def close(self) -> None: ...
