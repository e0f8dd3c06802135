"""Every run as it is now, and what changed: one watch of the API, told to any number of listeners.

A listener that was away names the last change it heard. Changes are numbered within one life of this process; who comes
from another life, or was away for too long, is told to begin anew.
"""

import asyncio
import bisect
import secrets
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

from jangar.operations import run_documents as documents
from jangar.operations.run_list import Row, place
from jangar.operations.run_reading import RUNS
from kubekit.cache.informer import Cached, Change, Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client

REMEMBERED: Final = 5000
SOME: Final = 200
"""So many changes are handed over at once at most."""
SLOWEST: Final = 2000
"""So many changes may wait for a listener; a slower one begins anew."""


class RunChange(NamedTuple):
    """One change. A reset means: what you know is old, ask for all of it.

    It is as small as can be: thousands are remembered.
    """

    id: str
    kind: Literal["run", "gone", "reset"]
    namespace: str
    written: bytes
    """As every listener gets it: written once."""


class LiveRuns:
    """The newest rows of all runs that one process may see."""

    def __init__(
        self,
        client: Client,
        namespaces: Namespaces,
        written: Callable[[str, str, Row], bytes] = lambda *_: b"",
    ) -> None:
        """`written` turns id, kind and row of a change into what listeners get."""
        self._written = written
        self.informer = Informer(client, RUNS, namespaces=namespaces)
        self.informer.cache.subscribe(self._changed)
        self._life = secrets.token_hex(4)
        self._number = 0
        self._rows: dict[str, Row] = {}
        self._order: list[tuple[tuple[str, str], str]] = []
        self._past: deque[tuple[int, RunChange]] = deque(maxlen=REMEMBERED)
        self._listeners: set[asyncio.Queue[RunChange | None]] = set()
        self._bells: dict[tuple[str, str], set[asyncio.Event]] = {}
        self._retries: dict[tuple[str, str], set[str]] = {}

    async def run(self) -> None:
        await self.informer.run()

    @property
    def is_ready(self) -> bool:
        return self.informer.has_synced

    def newest_first(self) -> Iterator[Row]:
        """To be gone through without waiting in between."""
        return (self._rows[uid] for _, uid in reversed(self._order))

    def rows(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def has(self, uid: str) -> bool:
        return uid in self._rows

    def object(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Not to be changed."""
        found = self.informer.cache.get(namespace, name)
        return found.view if found is not None else None

    def retries_of(self, namespace: str, name: str) -> list[str]:
        """Names of the runs that retry this one, the oldest first."""
        rows = [self._rows[uid] for uid in self._retries.get((namespace, name), ())]
        return [str(row["name"]) for row in sorted(rows, key=place)]

    def namespaces(self) -> frozenset[str]:
        return frozenset(str(row["namespace"]) for row in self._rows.values())

    @property
    def position(self) -> str:
        """The last change that is in what `newest_first` shows now."""
        return f"{self._life}-{self._number}"

    async def changes(self, after: str | None) -> AsyncGenerator[list[RunChange]]:
        """What changed since then, and from now on, some at once. Without a position, from now on."""
        queue: asyncio.Queue[RunChange | None] = asyncio.Queue(SLOWEST)
        missed = self._since(after)
        self._listeners.add(queue)
        try:
            if missed:
                yield missed
            is_over = False
            while not is_over:
                some, is_over = _taken(await queue.get(), queue)
                if some:
                    yield some
            yield [self._reset()]
        finally:
            self._listeners.discard(queue)

    @contextmanager
    def bell(self, namespace: str, name: str) -> Iterator[asyncio.Event]:
        """Rings at every change of one run, also one that its row does not show."""
        event, key = asyncio.Event(), (namespace, name)
        self._bells.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            self._bells[key].discard(event)
            if not self._bells[key]:
                del self._bells[key]

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def _since(self, after: str | None) -> list[RunChange]:
        if after is None or after == self.position:
            return []
        life, _, text = after.partition("-")
        number = int(text) if text.isdecimal() else -1
        oldest = self._past[0][0] if self._past else self._number + 1
        if life != self._life or not oldest - 1 <= number <= self._number:
            return [self._reset()]
        return [reported for at, reported in self._past if at > number]

    def _reset(self) -> RunChange:
        return self._reported("reset", {})

    def _reported(self, kind: Literal["run", "gone", "reset"], row: Row) -> RunChange:
        namespace = sys.intern(str(row.get("namespace", "")))
        return RunChange(self.position, kind, namespace, self._written(self.position, kind, row))

    def _changed(self, change: Change) -> None:
        self._ring(change.subject.namespace, change.subject.name)
        if change.new is None:
            self._forget(change.subject)
            self._tell("gone", _brief(change.subject))
            return
        row = documents.listed(change.new.view)
        known = self._rows.get(row["uid"])
        if known == row:
            return
        if known is None:
            bisect.insort(self._order, (place(row), row["uid"]))
            if row["retryOf"]:
                self._retries.setdefault((row["namespace"], row["retryOf"]), set()).add(row["uid"])
        self._rows[row["uid"]] = row
        if known is None and row["retryOf"]:
            self._ring(row["namespace"], row["retryOf"])
        self._tell("run", row)

    def _forget(self, gone: Cached) -> None:
        row = self._rows.pop(gone.uid, None)
        if row is not None:
            at = bisect.bisect_left(self._order, (place(row), gone.uid))
            del self._order[at]
            self._forget_retry(row)

    def _forget_retry(self, row: Row) -> None:
        key = (str(row["namespace"]), str(row["retryOf"]))
        if row["retryOf"] and key in self._retries:
            self._retries[key].discard(str(row["uid"]))
            if not self._retries[key]:
                del self._retries[key]
            self._ring(*key)

    def _ring(self, namespace: str, name: str) -> None:
        for bell in self._bells.get((namespace, name), ()):
            bell.set()

    def _tell(self, kind: Literal["run", "gone"], row: Row) -> None:
        self._number += 1
        reported = self._reported(kind, row)
        self._past.append((self._number, reported))
        for queue in tuple(self._listeners):
            try:
                queue.put_nowait(reported)
            except asyncio.QueueFull:
                self._listeners.discard(queue)
                _end(queue)


def _taken(first: RunChange | None, queue: "asyncio.Queue[RunChange | None]") -> tuple[list[RunChange], bool]:
    """What has come by now, and whether that was the last."""
    found: list[RunChange] = []
    while first is not None:
        found.append(first)
        if queue.empty() or len(found) == SOME:
            return found, False
        first = queue.get_nowait()
    return found, True


def _end(queue: "asyncio.Queue[RunChange | None]") -> None:
    """The listener hears what it still has room for, then that it must begin anew."""
    queue.get_nowait()
    queue.put_nowait(None)


def _brief(gone: Cached) -> Row:
    return {"namespace": gone.namespace, "name": gone.name, "uid": gone.uid}
