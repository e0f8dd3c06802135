"""What was told about objects, until it is stored: with what has ended, else some seconds later."""

import asyncio
from collections import OrderedDict
from typing import Final

from jangar.store.history import History
from jangar.store.rows import EventRow
from kubekit.events.event_values import Told

SECONDS: Final = 5.0
MOST: Final = 10_000
MANY: Final = 500


class PendingEvents:
    """Those that are not stored yet."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._waiting: OrderedDict[tuple[str, str, str, str], Told] = OrderedDict()
        self._since = 0.0

    def add(self, told: Told) -> None:
        if not self._waiting:
            self._since = asyncio.get_running_loop().time()
        self._waiting[told.same] = told
        while len(self._waiting) > MOST:
            self._waiting.popitem(last=False)

    def is_due(self, now: float) -> bool:
        return len(self._waiting) > MANY or (bool(self._waiting) and now - self._since >= SECONDS)

    async def store(self, history: History) -> None:
        """All of them; what cannot be stored waits on."""
        taken = list(self._waiting.values())
        if not taken:
            return
        await history.add_events([self._row(each) for each in taken])
        for each in taken:
            if self._waiting.get(each.same) == each:
                del self._waiting[each.same]

    def _row(self, told: Told) -> EventRow:
        return EventRow(
            uid=told.uid,
            type=told.type,
            reason=told.reason,
            message=told.message,
            source=self._source,
            count=told.count,
            first_at=told.first,
            last_at=told.last,
        )
