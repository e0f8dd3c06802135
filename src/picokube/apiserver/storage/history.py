"""The newest events in memory, oldest out first. Knows no watcher and no file."""

from collections import deque
from collections.abc import Iterator

from picokube.apiserver.storage.store import Event


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
