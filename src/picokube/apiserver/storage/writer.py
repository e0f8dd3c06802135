"""Who commits: a thread, or the event loop itself. Knows transactions and batches; not what a change means.

Work is done in the order it was submitted. What is waiting when a transaction begins shares it, up to a limit; nothing
is ever waited for in the hope of a larger one. Each batch is handed back to the loop with one call.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol

from picokube.apiserver.storage.log import Log, error_code
from picokube.apiserver.storage.store import (
    Broken,
    ChangeFailed,
    Closed,
    DiskFull,
    Event,
    StorageError,
    Stored,
)

UNTOUCHED = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_TOOBIG})
"""After these SQLite has certainly written nothing. After any other, the file must be looked at again."""
RETRIED = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_CANTOPEN})
"""Errors of the machine, which pass: the file is opened anew at once."""
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
        """Commit what was submitted and stop."""
        ...


class Committer:
    """Commits batches. After one whose outcome is unknown, the file is opened anew before anything else is written."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._revision = log.bounds().revision
        """Everything up to here is committed, and told."""
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
            # A loop that has ended has nobody left to tell.
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
