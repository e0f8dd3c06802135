"""The audit trail: who changed what through a control plane, in the log and, if there is a database, in the history.

A change does not wait for a database that is unreachable: its row is queued and stored later.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

from jangar.store.errors import Refused, StoreError
from jangar.store.history import History
from jangar.store.rows import AuditRow, Before

log = logging.getLogger("jangar.audit")

STORE_TIMEOUT: Final = 2.0
"""Seconds that a response waits until its row is stored."""
MAX_NAMESPACE: Final = 63
MAX_NAME: Final = 253
MAX_DETAIL: Final = 1000
RETRY_DELAY: Final = 30.0
MAX_QUEUED: Final = 10_000
BATCH_SIZE: Final = 200
PRUNE_INTERVAL: Final = 3600.0
PRUNE_PAUSE: Final = 0.05
"""Between two deletions, so other writers get a turn."""


class AuditTrail:
    """Stores rows in the order of the changes. `run` is called once and ends only by cancellation."""

    def __init__(
        self,
        history: Callable[[], Awaitable[History]] | None,
        *,
        now: Callable[[], datetime],
        keep: timedelta | None,
    ) -> None:
        self._history = history
        self._now = now
        self._keep = keep
        self._queue: deque[AuditRow] = deque(maxlen=MAX_QUEUED)
        self._lock = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """Number of rows that are not stored yet."""
        return len(self._queue)

    async def record(
        self,
        *,
        actor: str,
        action: str,
        namespace: str,
        kind: str,
        name: str,
        uid: str | None,
        status: int,
        detail: str | None,
    ) -> None:
        """Log a change or a rejected change, and store it. Long values are cut."""
        row = AuditRow(
            at=self._now(),
            actor=actor,
            action=action,
            namespace=namespace[:MAX_NAMESPACE],
            kind=kind,
            name=name[:MAX_NAME],
            uid=uid,
            status=status,
            detail=detail[:MAX_DETAIL] if detail else None,
        )
        fields = {name: value for name, value in asdict(row).items() if value is not None and name != "name"}
        log.info("audit", extra={"audit": fields | {"object": row.name, "at": row.at.isoformat()}})
        if self._history is None:
            return
        self._queue.append(row)
        try:
            async with asyncio.timeout(STORE_TIMEOUT):
                await self._flush()
        except (StoreError, TimeoutError, OSError) as error:
            log.warning("audit row waiting for the database", extra={"reason": str(error)})

    async def run(self) -> None:
        """Store queued rows and delete expired ones."""
        pruned_at = float("-inf")
        while self._history is not None:
            deleted: Mapping[str, int] = {}
            try:
                await self._flush()
                clock = asyncio.get_running_loop().time()
                if self._keep is not None and clock - pruned_at > PRUNE_INTERVAL:
                    before = Before(audits=self._now() - self._keep)
                    deleted = await (await self._history()).prune(before)
                    pruned_at = pruned_at if any(deleted.values()) else clock
            except (StoreError, OSError) as error:
                log.warning("audit rows not stored; retrying", extra={"reason": str(error)})
            await asyncio.sleep(PRUNE_PAUSE if any(deleted.values()) else RETRY_DELAY)

    async def _flush(self) -> None:
        if self._history is None:
            return
        async with self._lock:
            while self._queue:
                batch = [self._queue[at] for at in range(min(BATCH_SIZE, len(self._queue)))]
                try:
                    await (await self._history()).add_audit(batch)
                except Refused:
                    log.exception("database rejected audit rows; they are only in the log")
                for _ in batch:
                    self._queue.popleft()


async def list_audit(
    history: History, namespaces: Sequence[str] | None, before: int | None, limit: int
) -> tuple[list[AuditRow], int | None]:
    """Audit rows of these namespaces, newest first, and the number to continue before, if there may be more."""
    rows = await history.audit(namespaces, before, limit)
    return rows, rows[-1].number if len(rows) == limit else None
