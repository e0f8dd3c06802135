"""Compaction: how much history is kept. Knows revisions and time; not how a store deletes."""

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from picokube.apiserver.storage.store import ChangeFailed, Closed, Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPolicy:
    """A revision is kept while it is among the newest `at_least`, or younger than `age`; never more than `at_most`."""

    at_least: int = 10_000
    age: timedelta = timedelta(minutes=5)
    at_most: int = 100_000
    every: timedelta = timedelta(seconds=30)
    """How often the policy is applied."""


class Mark(NamedTuple):
    """The newest revision at some time."""

    time: float
    revision: int


class Compactor:
    """Forgets what the policy does not keep. After a start nothing counts as old until `age` has passed."""

    def __init__(self, store: Store, policy: CompactionPolicy | None = None) -> None:
        self._store = store
        self._policy = policy or CompactionPolicy()
        self._marks: deque[Mark] = deque()

    async def run(self) -> None:
        """Until cancelled, or until the store is closed."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                await self.compact(now=loop.time())
            except Closed:
                return
            except ChangeFailed as failure:
                log.warning("compaction postponed", extra={"reason": str(failure)})
            await asyncio.sleep(self._policy.every.total_seconds())

    async def compact(self, *, now: float) -> None:
        """One look; `now` only ever grows."""
        self._marks.append(Mark(now, self._store.revision))
        await self._store.compact(self._floor(now))

    def _floor(self, now: float) -> int:
        newest, policy = self._store.revision, self._policy
        while len(self._marks) > 1 and self._marks[1].time <= now - policy.age.total_seconds():
            self._marks.popleft()
        oldest = self._marks[0]
        aged = oldest.revision if oldest.time <= now - policy.age.total_seconds() else self._store.floor
        return max(min(aged, newest - policy.at_least), newest - policy.at_most)
