"""Who changed what through this control plane: told in the log at once, and in history where there is one.

A change never waits for a database that is away: its row waits here, and is stored when that answers again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

from jangar.store.errors import Refused, StoreError
from jangar.store.history import History
from jangar.store.rows import AuditRow, Before

log = logging.getLogger("jangar.audit")

WAIT: Final = 2.0
"""Seconds that an answer waits for its row."""
AGAIN: Final = 30.0
MAX_COUNT: Final = 10_000
SOME: Final = 200
TIDY: Final = 3600.0
PAUSE: Final = 0.05
"""Between two deletions, for others to write."""


class AuditTrail:
    """Rows in the order of the changes; `run` is called once and ends only by cancellation."""

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
        self._waiting: deque[AuditRow] = deque(maxlen=MAX_COUNT)
        self._storing = asyncio.Lock()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def add(self, row: AuditRow) -> None:
        reported = {
            name: value for name, value in asdict(row).items() if value is not None and name != "name"
        }
        log.info("audit", extra={"audit": reported | {"object": row.name, "at": row.at.isoformat()}})
        if self._history is None:
            return
        self._waiting.append(row)
        try:
            async with asyncio.timeout(WAIT):
                await self._stored()
        except (StoreError, TimeoutError, OSError) as error:
            log.warning("audit row waiting for the database", extra={"reason": str(error)})

    async def run(self) -> None:
        """Store what waits, and delete what is too old."""
        tidied = float("-inf")
        while self._history is not None:
            gone: Mapping[str, int] = {}
            try:
                await self._stored()
                clock = asyncio.get_running_loop().time()
                if self._keep is not None and clock - tidied > TIDY:
                    before = Before(audits=self._now() - self._keep)
                    gone = await (await self._history()).prune(before)
                    tidied = tidied if any(gone.values()) else clock
            except (StoreError, OSError) as error:
                log.warning("audit rows not stored; retrying", extra={"reason": str(error)})
            await asyncio.sleep(PAUSE if any(gone.values()) else AGAIN)

    async def _stored(self) -> None:
        if self._history is None:
            return
        async with self._storing:
            while self._waiting:
                some = [self._waiting[at] for at in range(min(SOME, len(self._waiting)))]
                try:
                    await (await self._history()).add_audit(some)
                except Refused:
                    log.exception("database rejected audit rows; they are only in the log")
                for _ in some:
                    self._waiting.popleft()
