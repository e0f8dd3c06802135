"""The store on SQLite: reads from an index in memory, changes through one writer, watches from both.

A change waits until the one before it on the same key is committed, then receives the committed object; changes of
different keys share transactions. Revisions are assigned on the event loop, in the order in which the writer commits
them; those of a failed change are not assigned again. If a caller is cancelled while its change is queued, the change
still happens.

The writer is a thread, or the event loop itself. Changes that wait when a transaction begins share it, up to a limit;
the writer never waits for more.
"""

import asyncio
import sqlite3
import sys
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol, assert_never

from picokube.apiserver.storage.broadcaster import Broadcaster, Watcher
from picokube.apiserver.storage.log import MEMORY, NO_LABELS, Log, error_code
from picokube.apiserver.storage.store import (
    Broken,
    Change,
    ChangeFailed,
    Closed,
    Compacted,
    Decision,
    DiskFull,
    Event,
    EventType,
    Key,
    NotReached,
    Put,
    Remove,
    Snapshot,
    StorageError,
    Stored,
    StoreSettings,
)

UNTOUCHED = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_TOOBIG})
"""After these errors SQLite has written nothing. After any other, the file must be reopened."""
RETRIED = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CANTOPEN})
"""Transient errors of the machine: the file is reopened at once."""
NO_SPACE = "no space left on device; the change was not made"


@dataclass(slots=True, eq=False)
class Append:
    """A change to commit, and who waits for it."""

    event: Event
    answer: asyncio.Future[Stored]


@dataclass(slots=True, eq=False)
class Job:
    """Something else to do inside a transaction."""

    run: Callable[[Log], bool | None]
    answer: asyncio.Future[bool]
    result: bool = False


Work = Append | Job
Settle = Callable[[Sequence[Work], ChangeFailed | None], None]
"""Called on the loop once for every batch, with why it was not committed."""


class Writer(Protocol):
    """The only one that writes to a log."""

    def submit(self, work: Work) -> None:
        """Commit this after everything submitted before; called on the loop."""
        ...

    async def close(self) -> None:
        """Commit submitted work and stop."""
        ...


class Committer:
    """Commits batches. After one whose outcome is unknown, the file is reopened before anything else is written."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._revision = log.bounds().revision
        """Everything up to this revision is committed and delivered."""
        self._broken: str | None = None

    def commit(self, batch: Sequence[Work]) -> ChangeFailed | None:
        if self._broken is not None and not self._has_recovered():
            return Broken(self._broken)
        events = [work.event for work in batch if isinstance(work, Append)]
        try:
            with self._log.transaction():
                self._log.append(events)
                for work in batch:
                    if isinstance(work, Job):
                        work.result = bool(work.run(self._log))
        except Exception as error:  # noqa: BLE001 - a writer that dies silently would leave every caller waiting
            return self._failure(error)
        if events:
            self._revision = events[-1].object.revision
        return None

    def _failure(self, error: Exception) -> ChangeFailed:
        code = error_code(error)
        if code == sqlite3.SQLITE_FULL:
            return _caused(DiskFull(f"{self._log.path}: {NO_SPACE}"), error)
        if code in UNTOUCHED:
            return _caused(ChangeFailed(f"{self._log.path}: {error}"), error)
        self._broken = f"{self._log.path}: {error}; no change is taken until the file can be opened again"
        if code in RETRIED and self._has_recovered():
            return _caused(ChangeFailed(f"{self._log.path}: {error}"), error)
        return _caused(Broken(self._broken), error)

    def _has_recovered(self) -> bool:
        try:
            self._log.recover(self._revision)
        except (sqlite3.Error, StorageError, OSError):
            return False
        self._broken = None
        return True


def _caused(failure: ChangeFailed, cause: Exception) -> ChangeFailed:
    failure.__cause__ = cause
    return failure


class ThreadWriter:
    """Commits in a thread, so that the loop works while the disk does."""

    def __init__(self, log: Log, settle: Settle, *, most: int) -> None:
        self._committer = Committer(log)
        self._settle = settle
        self._most = most
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._closed = False

    def submit(self, work: Work) -> None:
        if self._closed:
            raise Closed
        if self._thread is None:
            loop = asyncio.get_running_loop()
            thread = Thread(target=self._run, args=(loop,), name="storage-writer", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                # Not remembered: the next change tries again, once the machine has room for a thread.
                raise _caused(ChangeFailed(f"the storage writer cannot start: {error}"), error) from error
            self._thread = thread
        self._queue.put(work)

    async def close(self) -> None:
        self._closed = True
        if self._thread is None:
            return
        last = Job(lambda _: None, asyncio.get_running_loop().create_future())
        self._queue.put(last)
        self._queue.put(None)
        with suppress(ChangeFailed):
            await last.answer
        self._thread.join()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first, *self._waiting()]
            failure = self._committer.commit(batch)
            # The loop may have ended.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._settle, batch, failure)

    def _waiting(self) -> Iterator[Work]:
        """What else can share the transaction."""
        for _ in range(self._most - 1):
            try:
                work = self._queue.get_nowait()
            except Empty:
                return
            if work is None:
                self._queue.put(None)
                return
            yield work


class InlineWriter:
    """Commits on the loop, in its next turn: no thread, no chance, the same result every time."""

    def __init__(self, log: Log, settle: Settle, *, most: int) -> None:
        self._committer = Committer(log)
        self._settle = settle
        self._most = most
        self._queue: deque[Work] = deque()
        self._closed = False

    def submit(self, work: Work) -> None:
        if self._closed:
            raise Closed
        if not self._queue:
            asyncio.get_running_loop().call_soon(self._flush)
        self._queue.append(work)

    async def close(self) -> None:
        self._closed = True
        self._flush()

    def _flush(self) -> None:
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(self._most, len(self._queue)))]
            self._settle(batch, self._committer.commit(batch))


class Index:
    """The current objects. All results are immutable."""

    def __init__(self, objects: Iterable[Stored] = ()) -> None:
        self._shelves: dict[str, _ResourceIndex] = {}
        self._owned: dict[str, set[Key]] = {}
        for stored in objects:
            self._shelf(stored.key.resource).objects[stored.key] = stored
            self._own(stored)
        for shelf in self._shelves.values():
            shelf.keys = sorted(shelf.objects)

    def get(self, key: Key) -> Stored | None:
        shelf = self._shelves.get(key.resource)
        return shelf.objects.get(key) if shelf else None

    def list(self, resource: str, namespace: str | None) -> Sequence[Stored]:
        """In key order."""
        shelf = self._shelves.get(resource)
        if shelf is None:
            return []
        keys = shelf.keys
        if namespace is not None:
            # No namespace sorts between one and the same with a NUL behind it.
            first = bisect_left(keys, Key(resource, namespace, ""))
            keys = keys[first : bisect_left(keys, Key(resource, namespace + "\0", ""), first)]
        objects = shelf.objects
        return [objects[key] for key in keys]

    def owned_by(self, uid: str) -> Sequence[Stored]:
        """In key order."""
        return [self._shelves[key.resource].objects[key] for key in sorted(self._owned.get(uid, ()))]

    def apply(self, event: Event) -> None:
        """Take over a committed change."""
        stored = event.object
        shelf = self._shelf(stored.key.resource)
        if event.previous is not None:
            self._disown(event.previous)
        if event.type is EventType.DELETED:
            del shelf.objects[stored.key]
            del shelf.keys[bisect_left(shelf.keys, stored.key)]
            return
        if event.previous is None:
            insort(shelf.keys, stored.key)
        shelf.objects[stored.key] = stored
        self._own(stored)

    def _shelf(self, resource: str) -> "_ResourceIndex":
        return self._shelves.setdefault(resource, _ResourceIndex())

    def _own(self, stored: Stored) -> None:
        for uid in stored.owners:
            self._owned.setdefault(uid, set()).add(stored.key)

    def _disown(self, stored: Stored) -> None:
        for uid in stored.owners:
            if keys := self._owned.get(uid):
                keys.discard(stored.key)
                if not keys:
                    del self._owned[uid]


class _ResourceIndex:
    """One resource."""

    __slots__ = ("keys", "objects")

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.objects: dict[Key, Stored] = {}


def lean_key(key: Key) -> Key:
    """The same key, sharing its resource and namespace with all others."""
    return Key(sys.intern(key.resource), sys.intern(key.namespace), key.name)


class KeyLocks:
    """Locks of keys, granted in order."""

    def __init__(self) -> None:
        self._waiting: dict[Key, deque[asyncio.Future[None]]] = {}

    async def take(self, key: Key) -> None:
        """Wait until the key is free."""
        if (line := self._waiting.get(key)) is None:
            self._waiting[key] = deque()
            return
        turn = asyncio.get_running_loop().create_future()
        line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come in the same moment; then it is for the next one.
            if turn.done() and not turn.cancelled():
                self.pass_on(key)
            raise

    def pass_on(self, key: Key) -> None:
        line = self._waiting[key]
        while line:
            turn = line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._waiting[key]


class SqliteStore:
    """See `store.Store`. Use `open`; all but that belongs to one event loop."""

    def __init__(self, log: Log, settings: StoreSettings) -> None:
        floor, revision = log.bounds()
        self._log = log
        self._settings = settings
        self._index = Index(log.current())
        self._broadcaster = Broadcaster(floor=floor, revision=revision, past=log.between, settings=settings)
        self._turns = KeyLocks()
        self._given = revision
        self._closed = False
        self.failure: ChangeFailed | None = None
        """Why the last transaction failed; None if it did not."""
        inline = settings.inline or log.path == MEMORY
        writer = InlineWriter if inline else ThreadWriter
        self._writer: Writer = writer(log, self._settle, most=settings.batch_changes)

    @classmethod
    def open(cls, path: Path | str, settings: StoreSettings | None = None) -> "SqliteStore":
        """Own the file, made if it is not there, or `:memory:`. Raises CannotOpen."""
        log = Log(path)
        try:
            return cls(log, settings or StoreSettings())
        except BaseException:
            log.close()
            raise

    @property
    def revision(self) -> int:
        return self._broadcaster.revision

    @property
    def floor(self) -> int:
        return self._broadcaster.floor

    def get(self, key: Key) -> Stored | None:
        return self._index.get(key)

    def list(self, resource: str, namespace: str | None = None) -> Snapshot:
        return Snapshot(self.revision, self._index.list(resource, namespace))

    def list_at(self, resource: str, namespace: str | None, revision: int) -> Snapshot:
        if revision < self.floor:
            raise Compacted(revision, self.floor)
        if revision > self.revision:
            raise NotReached(revision, self.revision)
        if revision < self._broadcaster.history.start:
            self._check_open()
            return Snapshot(revision, self._log.as_of(resource, namespace, revision))
        return Snapshot(revision, self._rolled_back(resource, namespace, revision))

    def owned_by(self, uid: str) -> Sequence[Stored]:
        return self._index.owned_by(uid)

    def watch(self, resource: str, namespace: str | None, since: int) -> Watcher:
        return self._broadcaster.watch(resource, namespace, since)

    async def change(self, key: Key, change: Change) -> Stored | None:
        self._check_open()
        await self._turns.take(key)
        try:
            before = self._index.get(key)
            decision = change(before)
            if isinstance(decision, Awaitable):
                decision = await decision
                self._check_open()
            if (event := self._event(key, before, decision)) is None:
                self._turns.pass_on(key)
                return self._index.get(key)
            answer: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
            self._writer.submit(Append(event, answer))
        except BaseException:
            self._turns.pass_on(key)
            raise
        self._given = event.object.revision
        return await answer

    async def compact(self, floor: int) -> None:
        self._check_open()
        reported = self._broadcaster
        # From now on no watch begins below the floor; those that did are waited for, within limits.
        reported.floor = max(reported.floor, min(floor, reported.revision))
        reported.kept = kept = max(reported.kept, min(reported.floor, reported.oldest_needed()))
        await self._done(lambda log: log.move_floor(kept))
        while await self._done(lambda log: log.prune(self._settings.prune_rows)):
            pass
        pages, spare = self._settings.release_pages, self._settings.spare_pages
        while await self._done(lambda log: log.release_pages(pages, spare=spare)):
            pass

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._writer.close()
        self._broadcaster.close()
        self._log.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed

    def _event(self, key: Key, before: Stored | None, decision: Decision) -> Event | None:
        """The event of a decision, under the next revision."""
        revision = self._given + 1
        match decision:
            case None:
                return None
            case Put():
                after = Stored(
                    key=before.key if before else lean_key(key),
                    uid=decision.uid,
                    revision=revision,
                    data=decision.render(revision),
                    labels=dict(decision.labels) if decision.labels else NO_LABELS,
                    owners=decision.owners,
                )
                kind = EventType.MODIFIED if before else EventType.ADDED
                return Event(type=kind, object=after, previous=before)
            case Remove():
                if before is None:
                    return None
                last = Stored(
                    key=before.key,
                    uid=before.uid,
                    revision=revision,
                    data=decision.render(revision),
                    labels=before.labels,
                    owners=before.owners,
                )
                return Event(type=EventType.DELETED, object=last, previous=before)
            case _:
                assert_never(decision)

    def _settle(self, batch: Sequence[Work], failure: ChangeFailed | None) -> None:
        """After a transaction: update memory, notify watchers, answer the caller, then wake waiting writers."""
        changes = [work for work in batch if isinstance(work, Append)]
        self.failure = failure
        if failure is None and changes:
            for change in changes:
                self._index.apply(change.event)
            self._broadcaster.publish([change.event for change in changes])
        for work in batch:
            _answer(work, failure)
        for change in changes:
            self._turns.pass_on(change.event.object.key)

    async def _done(self, run: Callable[[Log], bool | None]) -> bool:
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._writer.submit(Job(run, answer))
        return await answer

    def _rolled_back(self, resource: str, namespace: str | None, revision: int) -> Sequence[Stored]:
        """The objects at an older revision: the current ones with newer events undone."""
        now = self._index.list(resource, namespace)
        since = list(self._broadcaster.history.newest_first(resource, namespace, revision))
        if not since:
            return now
        objects = {stored.key: stored for stored in now}
        for event in since:
            if event.previous is None:
                del objects[event.object.key]
            else:
                objects[event.object.key] = event.previous
        return sorted(objects.values(), key=lambda stored: stored.key)


def _answer(work: Work, failure: ChangeFailed | None) -> None:
    if work.answer.done():
        return
    if failure is not None:
        work.answer.set_exception(_own(failure))
    elif isinstance(work, Append):
        work.answer.set_result(work.event.object)
    else:
        work.answer.set_result(work.result)


def _own(failure: ChangeFailed) -> ChangeFailed:
    """A copy for each caller: a traceback belongs to one."""
    copy = type(failure)(*failure.args)
    copy.__cause__ = failure.__cause__
    return copy
