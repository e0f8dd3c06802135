"""Delivers one stream of committed events to many watchers.

A watcher behind the history in memory reads the log, a stretch at a time, until the history takes over; from then on
events are pushed to it. Both happen on the event loop without a pause between the last read and the first push, so no
event is missed or delivered twice. All watchers share the same events.

Watchers are notified in rounds. After a round the broadcaster pauses for as long as the round took, within limits: a
thousand watchers leave time for other work, and events committed in the meantime reach each of them in one batch.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from picokube.apiserver.storage.store import Closed, Compacted, Event, StoreSettings, TooSlow


class History:
    """Every event after `start`, bounded in number and bytes."""

    def __init__(self, start: int, *, events: int, size: int) -> None:
        self.start = start
        self._most_events, self._most_bytes = events, size
        self._events: deque[Event] = deque()
        self._by_resource: dict[str, deque[Event]] = {}
        self._bytes = 0

    def add(self, event: Event) -> None:
        self._events.append(event)
        self._by_resource.setdefault(event.object.key.resource, deque()).append(event)
        self._bytes += len(event.object.data)
        while len(self._events) > self._most_events or self._bytes > self._most_bytes:
            self._forget_oldest()

    def newest_first(self, resource: str, namespace: str | None, since: int) -> Iterator[Event]:
        """Events of a resource after `since`, which is not older than `start`."""
        for event in reversed(self._by_resource.get(resource, ())):
            if event.object.revision <= since:
                return
            if namespace is None or event.object.key.namespace == namespace:
                yield event

    def _forget_oldest(self) -> None:
        oldest = self._events.popleft()
        resource = oldest.object.key.resource
        self._by_resource[resource].popleft()
        if not self._by_resource[resource]:
            del self._by_resource[resource]
        self._bytes -= len(oldest.object.data)
        self.start = oldest.object.revision


STRETCH = 256
"""Revisions of the log that are read before the event loop may run other tasks."""

MAX_PAUSE = 0.01
"""Seconds between two rounds of telling, however long they take."""

Past = Callable[[int, int, str, str | None], list[Event]]
"""Events after a revision and up to another, of a resource and perhaps a namespace."""


class Broadcaster:
    """All watchers and their progress."""

    def __init__(self, *, floor: int, revision: int, past: Past, settings: StoreSettings) -> None:
        self.floor, self.revision = floor, revision
        self.kept = floor
        """The log has everything from here on. Below the floor only while a watch that began before is reading it."""
        self.settings = settings
        self.past = past
        self.history = History(revision, events=settings.history_events, size=settings.history_bytes)
        self._live: dict[str, dict[Watcher, None]] = {}
        self._reading: dict[Watcher, float] = {}
        self._due: list[Watcher] = []
        self._in_round = False
        self._closed = False

    def watch(self, resource: str, namespace: str | None, since: int) -> "Watcher":
        if self._closed:
            raise Closed
        if since < self.floor:
            raise Compacted(since, self.floor)
        return Watcher(self, resource, namespace, since)

    def publish(self, events: Sequence[Event]) -> None:
        """Deliver committed events to all watchers, in order of revision."""
        for event in events:
            self.history.add(event)
            # A watcher that is dropped leaves the table, hence the copy.
            for watcher in tuple(self._live.get(event.object.key.resource, ())):
                if watcher.push(event):
                    self._due.append(watcher)
        self.revision = events[-1].object.revision
        if self._due and not self._in_round:
            self._begin_round()

    def oldest_needed(self) -> int:
        """From here on the log is still read: by watches that began in the window, while their lease lasts."""
        now = asyncio.get_running_loop().time()
        reading = (watcher.revision for watcher, until in self._reading.items() if until > now)
        return min(reading, default=self.revision)

    def close(self) -> None:
        """End every watch after the events that are already queued for it."""
        self._closed = True
        for watcher in [*self._reading, *(watcher for live in self._live.values() for watcher in live)]:
            watcher.close()

    def _begin_round(self) -> None:
        loop = asyncio.get_running_loop()
        due, self._due = self._due, []
        self._in_round = True
        for watcher in due:
            watcher.wake_if_notified()
        # Watchers run in the next iteration of the loop, whose clock may not advance before the one after.
        loop.call_soon(loop.call_soon, self._pause, loop.time())

    def _pause(self, began: float) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(min(loop.time() - began, MAX_PAUSE), self._end_round)

    def _end_round(self) -> None:
        self._in_round = False
        if self._due:
            self._begin_round()

    def read_past(self, watcher: "Watcher") -> None:
        lease = self.settings.catch_up_lease.total_seconds()
        self._reading[watcher] = asyncio.get_running_loop().time() + lease

    def go_live(self, watcher: "Watcher") -> None:
        self._reading.pop(watcher, None)
        self._live.setdefault(watcher.resource, {})[watcher] = None

    def leave(self, watcher: "Watcher") -> None:
        self._reading.pop(watcher, None)
        if (live := self._live.get(watcher.resource)) is not None:
            live.pop(watcher, None)
            if not live:
                del self._live[watcher.resource]


class Watcher:
    """One watch: an async iterator of batches. Ends by itself only when the store closes."""

    def __init__(self, source: Broadcaster, resource: str, namespace: str | None, since: int) -> None:
        self.resource, self._revision = resource, since
        self._namespace = namespace
        self._source = source
        self._waiting: list[Event] = []
        self._waiter: asyncio.Future[None] | None = None
        self._heart: asyncio.TimerHandle | None = None
        self._live = self._closed = self._dropped = False
        if since >= source.history.start:
            self._take_over()
        else:
            source.read_past(self)

    @property
    def revision(self) -> int:
        """Everything up to this revision was delivered."""
        if self._live and not (self._waiting or self._dropped):
            return max(self._revision, self._source.revision)
        return self._revision

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[Event]:
        while not self._waiting:
            if self._dropped:
                raise TooSlow(f"{self._source.settings.watch_queue_events} events were waiting for a watcher")
            if self._closed:
                raise StopAsyncIteration
            if not self._live:
                self._look_back()
                await asyncio.sleep(0)
            elif not await self._woken():
                self._revision = max(self._revision, self._source.revision)
                return ()
        batch, self._waiting = self._waiting, []
        if self._live:
            self._revision = max(self._revision, self._source.revision)
        else:
            self._revision = batch[-1].object.revision
        return batch

    async def aclose(self) -> None:
        self._waiting.clear()
        self.close()

    def close(self) -> None:
        self._closed = True
        if self._heart is not None:
            self._heart.cancel()
        self._source.leave(self)
        self._wake()

    def push(self, event: Event) -> bool:
        """Keep an event for the next batch; return whether the watcher had none and must be notified."""
        if self._namespace is not None and event.object.key.namespace != self._namespace:
            return False
        if event.object.revision <= self.revision:
            return False
        self._waiting.append(event)
        if len(self._waiting) > self._source.settings.watch_queue_events:
            self._dropped = True
            self._waiting.clear()
            self._source.leave(self)
            return True
        return len(self._waiting) == 1

    def wake_if_notified(self) -> None:
        """Unless it has come by itself meanwhile."""
        if self._waiting or self._dropped:
            self._wake()

    def _look_back(self) -> None:
        """Read a stretch of events that are no longer in memory."""
        if self.revision >= self._source.history.start:
            self._take_over()
            return
        if self.revision < self._source.kept:
            self.close()
            raise Compacted(self.revision, self._source.floor)
        upto = min(self.revision + STRETCH, self._source.history.start)
        self._waiting = self._source.past(self.revision, upto, self.resource, self._namespace)
        if not self._waiting:
            self._revision = upto

    def _take_over(self) -> None:
        found = self._source.history.newest_first(self.resource, self._namespace, self.revision)
        self._waiting = [*found][::-1]
        self._live = True
        self._source.go_live(self)

    async def _woken(self) -> bool:
        """Whether something happened before the next heartbeat."""
        loop = asyncio.get_running_loop()
        self._waiter = waiter = loop.create_future()
        pause = self._source.settings.heartbeat
        if self._heart is None and pause is not None:
            # Left running while events come: a timer for each wait would cost as much as the event.
            self._heart = loop.call_later(pause.total_seconds(), self._beat)
        try:
            await waiter
        finally:
            self._waiter = None
        return bool(self._waiting or self._dropped or self._closed)

    def _beat(self) -> None:
        self._heart = None
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
