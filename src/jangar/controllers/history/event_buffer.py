"""What was told about objects, until it is stored: with what has ended, else some seconds later."""

import asyncio
from collections import OrderedDict
from typing import Final

from jangar.store.history import History
from jangar.store.rows import EventRow
from kubekit.events.event_recorder import RepeatedEvent

SECONDS: Final = 5.0
MAX_COUNT: Final = 10_000
MANY: Final = 500


class PendingEvents:
    """Those that are not stored yet."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._waiting: OrderedDict[tuple[str, str, str, str], RepeatedEvent] = OrderedDict()
        self._since = 0.0

    def add(self, reported: RepeatedEvent) -> None:
        if not self._waiting:
            self._since = asyncio.get_running_loop().time()
        self._waiting[reported.same] = reported
        while len(self._waiting) > MAX_COUNT:
            self._waiting.popitem(last=False)

    def is_due(self, now: float) -> bool:
        return len(self._waiting) > MANY or (bool(self._waiting) and now - self._since >= SECONDS)

    async def store(self, history: History) -> None:
        """All of them; what cannot be stored waits on."""
        taken = list(self._waiting.values())
        if not taken:
            return
        await history.add_events([self._row(item) for item in taken])
        for item in taken:
            if self._waiting.get(item.same) == item:
                del self._waiting[item.same]

    def _row(self, reported: RepeatedEvent) -> EventRow:
        return EventRow(
            uid=reported.uid,
            type=reported.type,
            reason=reported.reason,
            message=reported.message,
            source=self._source,
            count=reported.count,
            first_at=reported.first,
            last_at=reported.last,
        )
