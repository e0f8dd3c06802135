"""Current rows of all runs and their changes: one watch of the API serves any number of listeners.

A listener that reconnects passes the position of the last change it received. Positions are valid within one process;
a listener with an older or foreign position gets a reset and must list again.
"""

import asyncio
import bisect
import secrets
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

from jangar.operations.run_documents import list_item
from jangar.operations.run_list import Row, RowKey, row_key
from jangar.operations.run_reading import RUNS
from kubekit.cache.informer import Cached, Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client

MAX_REMEMBERED: Final = 5000
MAX_BATCH: Final = 200
MAX_QUEUED: Final = 2000
"""Changes that may wait for a listener; a slower one gets a reset."""


class RunChange(NamedTuple):
    """One change; `reset` tells the listener to list again. Kept small, because thousands are remembered."""

    id: str
    kind: Literal["run", "gone", "reset"]
    namespace: str
    written: bytes
    """The serialized event, shared by all listeners."""


class LiveRuns:
    """Rows of all runs in the watched namespaces."""

    def __init__(
        self,
        client: Client,
        namespaces: Namespaces,
        written: Callable[[str, str, Row], bytes] = lambda *_: b"",
    ) -> None:
        """`written` serializes the id, kind and row of a change."""
        self._written = written
        self.informer = Informer(client, RUNS, namespaces=namespaces)
        self.informer.cache.subscribe(self._on_change)
        self._process_id = secrets.token_hex(4)
        self._number = 0
        self._rows: dict[str, Row] = {}
        self._order: list[tuple[RowKey, str]] = []
        self._remembered: deque[tuple[int, RunChange]] = deque(maxlen=MAX_REMEMBERED)
        self._listeners: set[asyncio.Queue[RunChange | None]] = set()
        self._change_events: dict[tuple[str, str], set[asyncio.Event]] = {}
        self._retries: dict[tuple[str, str], set[str]] = {}

    async def run(self) -> None:
        await self.informer.run()

    @property
    def is_ready(self) -> bool:
        return self.informer.has_synced

    def newest_first(self) -> Iterator[Row]:
        """Iterate without awaiting in between."""
        return (self._rows[uid] for _, uid in reversed(self._order))

    def rows(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def has(self, uid: str) -> bool:
        return uid in self._rows

    def object(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """The cached object; do not modify it."""
        found = self.informer.cache.get(namespace, name)
        return found.view if found is not None else None

    def retries_of(self, namespace: str, name: str) -> list[str]:
        """Names of the live runs that retry this one, oldest first."""
        rows = [self._rows[uid] for uid in self._retries.get((namespace, name), ())]
        return [str(row["name"]) for row in sorted(rows, key=row_key)]

    def namespaces(self) -> frozenset[str]:
        return frozenset(str(row["namespace"]) for row in self._rows.values())

    @property
    def position(self) -> str:
        """Position of the last change that `newest_first` includes."""
        return f"{self._process_id}-{self._number}"

    async def changes(self, after: str | None) -> AsyncGenerator[list[RunChange]]:
        """Batches of changes after a position, or from now on without one."""
        queue: asyncio.Queue[RunChange | None] = asyncio.Queue(MAX_QUEUED)
        missed = self._since(after)
        self._listeners.add(queue)
        try:
            if missed:
                yield missed
            is_over = False
            while not is_over:
                batch, is_over = _take_batch(await queue.get(), queue)
                if batch:
                    yield batch
            yield [self._reset()]
        finally:
            self._listeners.discard(queue)

    @contextmanager
    def change_event(self, namespace: str, name: str) -> Iterator[asyncio.Event]:
        """An event that is set at every change of one run, including changes that its row does not show."""
        event, key = asyncio.Event(), (namespace, name)
        self._change_events.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            self._change_events[key].discard(event)
            if not self._change_events[key]:
                del self._change_events[key]

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def _since(self, after: str | None) -> list[RunChange]:
        if after is None or after == self.position:
            return []
        process_id, _, text = after.partition("-")
        number = int(text) if text.isdecimal() else -1
        oldest = self._remembered[0][0] if self._remembered else self._number + 1
        if process_id != self._process_id or not oldest - 1 <= number <= self._number:
            return [self._reset()]
        return [change for at, change in self._remembered if at > number]

    def _reset(self) -> RunChange:
        return self._new_change("reset", {})

    def _new_change(self, kind: Literal["run", "gone", "reset"], row: Row) -> RunChange:
        namespace = sys.intern(str(row.get("namespace", "")))
        return RunChange(self.position, kind, namespace, self._written(self.position, kind, row))

    def _on_change(self, change: Change) -> None:
        self._signal(change.subject.namespace, change.subject.name)
        if change.new is None:
            self._forget(change.subject)
            self._publish("gone", _key_fields(change.subject))
            return
        row = list_item(change.new.view)
        known = self._rows.get(row["uid"])
        if known == row:
            return
        if known is None:
            bisect.insort(self._order, (row_key(row), row["uid"]))
            if row["retryOf"]:
                self._retries.setdefault((row["namespace"], row["retryOf"]), set()).add(row["uid"])
        self._rows[row["uid"]] = row
        if known is None and row["retryOf"]:
            self._signal(row["namespace"], row["retryOf"])
        self._publish("run", row)

    def _forget(self, gone: Cached) -> None:
        row = self._rows.pop(gone.uid, None)
        if row is not None:
            at = bisect.bisect_left(self._order, (row_key(row), gone.uid))
            del self._order[at]
            self._forget_retry(row)

    def _forget_retry(self, row: Row) -> None:
        key = (str(row["namespace"]), str(row["retryOf"]))
        if row["retryOf"] and key in self._retries:
            self._retries[key].discard(str(row["uid"]))
            if not self._retries[key]:
                del self._retries[key]
            self._signal(*key)

    def _signal(self, namespace: str, name: str) -> None:
        for event in self._change_events.get((namespace, name), ()):
            event.set()

    def _publish(self, kind: Literal["run", "gone"], row: Row) -> None:
        self._number += 1
        change = self._new_change(kind, row)
        self._remembered.append((self._number, change))
        for queue in tuple(self._listeners):
            try:
                queue.put_nowait(change)
            except asyncio.QueueFull:
                self._listeners.discard(queue)
                _end(queue)


def _take_batch(
    first: RunChange | None, queue: "asyncio.Queue[RunChange | None]"
) -> tuple[list[RunChange], bool]:
    """The changes in the queue, and whether the listener has ended."""
    found: list[RunChange] = []
    while first is not None:
        found.append(first)
        if queue.empty() or len(found) == MAX_BATCH:
            return found, False
        first = queue.get_nowait()
    return found, True


def _end(queue: "asyncio.Queue[RunChange | None]") -> None:
    """Make room for an end mark: the listener gets the queued changes and then a reset."""
    queue.get_nowait()
    queue.put_nowait(None)


def _key_fields(gone: Cached) -> Row:
    return {"namespace": gone.namespace, "name": gone.name, "uid": gone.uid}
