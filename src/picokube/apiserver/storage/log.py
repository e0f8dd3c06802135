"""The SQLite file: its schema, its lock, and rows of revisions. No event loop, no threads.

`log` is append-only; a row is a revision of an object and names the revision it follows. A row that a newer one
supersedes (or that is a deletion) is deleted once the floor has passed it. So the highest revision ever assigned is
that of the newest row or the floor, whichever is higher.

Two connections: one writes, inside a transaction of the caller; one reads what is committed. In memory they are one.
"""

import fcntl
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from kubekit.private_files import create_private, enable_shrinking, release_pages
from picokube.apiserver.storage.store import (
    CannotOpen,
    Corrupt,
    Event,
    EventType,
    InUse,
    Key,
    Stored,
    WrongSchema,
)

MEMORY = ":memory:"
APPLICATION = 0x6A616E67
"""`jang` in the header of the file marks it as ours."""
VERSION = 1
BUSY_SECONDS = 5.0
REMEDY = "move {directory} away; then start empty, or put a backup of it in its place"

# The floor of an empty store is 1 and so is its revision: 0 means "any" to Kubernetes.
TABLES = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  previous INTEGER NOT NULL,
  type TEXT NOT NULL,
  resource TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  uid TEXT NOT NULL,
  labels TEXT,
  owners TEXT,
  data BLOB NOT NULL
);
CREATE INDEX log_key ON log (resource, namespace, name);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('floor', 1), ('pruned', 1);
"""

MARK = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"

# 8 KB pages hold three usual objects; 4 KB pages hold one and waste the rest. `fullfsync` is what makes macOS write
# through its disk's cache; elsewhere it means nothing.
PRAGMAS = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON;
PRAGMA journal_size_limit = 67108864;
PRAGMA cache_size = -4000;
PRAGMA cell_size_check = ON;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
"""


def connect(path: Path | str) -> sqlite3.Connection:
    """A connection in autocommit: transactions are begun and committed by name."""
    if path != MEMORY:
        create_private(Path(path))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.executescript(PRAGMAS)
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: sqlite3.Connection, path: Path | str) -> None:
    """Create the tables in a new file; refuse a file that is not ours or not of this version."""
    check(connection, path)
    with suppress(sqlite3.OperationalError):
        # A full disk, or another reader: the file works as it is, and the next start tries again.
        enable_shrinking(connection)
    if _number(connection, "PRAGMA application_id") == APPLICATION:
        return
    connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {MARK} COMMIT;")
    if path != MEMORY:
        _sync_directory(Path(path).parent)


def check(connection: sqlite3.Connection, path: Path | str) -> None:
    """Raise WrongSchema for a file that this program did not write, or that another version wrote."""
    if _number(connection, "PRAGMA application_id") == APPLICATION:
        if (found := _number(connection, "PRAGMA user_version")) != VERSION:
            raise WrongSchema(
                path, f"written with storage version {found}; this program reads version {VERSION}"
            )
        return
    if _number(connection, "SELECT count(*) FROM sqlite_master"):
        raise WrongSchema(path, "a SQLite file, but not one that this program wrote")


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


def _sync_directory(directory: Path) -> None:
    """Make a new file's name as durable as its content."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FileLock:
    """Ownership of a store by this process. The kernel takes it back when the process dies, however it dies."""

    def __init__(self, path: Path) -> None:
        lock = path.with_name(path.name + ".lock")
        try:
            self._descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CannotOpen(path, f"{error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise InUse(path, f"in use by process {owner}; one process may own a store") from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._descriptor)


def damaged(path: Path | str, error: sqlite3.DatabaseError) -> CannotOpen:
    """SQLite's message about a damaged file, with its name."""
    if error_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return Corrupt(path, f"damaged ({error}); {REMEDY.format(directory=Path(path).parent)}")
    return CannotOpen(path, str(error))


def error_code(error: Exception) -> int | None:
    """SQLite's kind of error, without the detail in the upper bits; None for errors of others."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


NO_LABELS: dict[str, str] = {}

Row = tuple[int, int, str, str, str, str, str, str | None, str | None, bytes]
"""As `schema.py` has the columns."""
COLUMNS = 10
INSERT = "INSERT INTO log VALUES "
SLOTS = f"({', '.join('?' * COLUMNS)})"
NEWEST = """
SELECT * FROM log WHERE type <> 'DELETED'
AND revision IN (SELECT max(revision) FROM log GROUP BY resource, namespace, name)
"""
AS_OF = """
SELECT * FROM log WHERE type <> 'DELETED' AND revision IN (
  SELECT max(revision) FROM log WHERE resource = :resource AND (:namespace IS NULL OR namespace = :namespace)
  AND revision <= :revision GROUP BY namespace, name
) ORDER BY namespace, name
"""
BETWEEN = """
SELECT l.*, p.uid, p.labels, p.owners, p.data
FROM log AS l LEFT JOIN log AS p ON p.revision = l.previous
WHERE l.revision > :after AND l.revision <= :upto AND l.resource = :resource
AND (:namespace IS NULL OR l.namespace = :namespace) ORDER BY l.revision
"""
WALKED = """
SELECT max(revision), count(*) FROM (
  SELECT revision FROM log WHERE revision > :after AND revision <= :floor ORDER BY revision LIMIT :rows
)
"""
PRUNE = """
DELETE FROM log WHERE revision IN (
  SELECT previous FROM log WHERE revision > :after AND revision <= :upto AND previous > 0
  UNION ALL
  SELECT revision FROM log WHERE revision > :after AND revision <= :upto AND type = 'DELETED'
)
"""


class Bounds(NamedTuple):
    """The oldest revision a watch may start from, and the highest ever given."""

    floor: int
    revision: int


class Log:
    """One open file, owned until it is closed."""

    def __init__(self, path: Path | str) -> None:
        self.path = path
        with ExitStack() as opening:
            if path != MEMORY:
                opening.callback(FileLock(Path(path)).release)
            with self._translated():
                self._writer = connect(path)
                opening.callback(self._close_writer)
                prepare(self._writer, path)
                self._reader = self._writer
                if path != MEMORY:
                    self._reader = connect(path)
                    opening.callback(self._reader.close)
                    # It reads in order and seldom twice; current objects are in memory.
                    self._reader.executescript("PRAGMA query_only = ON; PRAGMA cache_size = -1000;")
            self._opened = opening.pop_all()

    def close(self) -> None:
        """Close the file. The last connection to close checkpoints the WAL."""
        self._opened.close()

    # Reading

    def bounds(self) -> Bounds:
        with self._translated():
            floor = self._meta("floor")
            (newest,) = self._reader.execute("SELECT max(revision) FROM log").fetchone()
            return Bounds(floor, max(floor, newest or 0))

    def current(self) -> Iterator[Stored]:
        """Every object as it is, in no order."""
        with self._translated():
            yield from map(_stored, self._reader.execute(NEWEST))

    def as_of(self, resource: str, namespace: str | None, revision: int) -> list[Stored]:
        """The objects of a resource at a revision not older than the floor, in key order."""
        requested = {"resource": resource, "namespace": namespace, "revision": revision}
        with self._translated():
            return [_stored(row) for row in self._reader.execute(AS_OF, requested)]

    def between(self, after: int, upto: int, resource: str, namespace: str | None) -> list[Event]:
        """Events of a resource after one revision and up to another; neither is older than the floor."""
        requested = {"resource": resource, "namespace": namespace, "after": after, "upto": upto}
        with self._translated():
            return [_event(row) for row in self._reader.execute(BETWEEN, requested)]

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is committed durably, or nothing is."""
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writer.execute("COMMIT")
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def append(self, events: Sequence[Event]) -> None:
        """Insert in as few statements as sizes of powers of two allow.

        `executemany` would hand the interpreter to the event loop and wait for it back once for every row.
        """
        rows = [_row(event) for event in events]
        while rows:
            size = 1 << (len(rows).bit_length() - 1)
            self._writer.execute(
                INSERT + ", ".join([SLOTS] * size), [value for row in rows[:size] for value in row]
            )
            rows = rows[size:]

    def move_floor(self, floor: int) -> None:
        self._writer.execute("UPDATE meta SET value = ? WHERE name = 'floor'", (floor,))

    def prune(self, rows: int) -> bool:
        """Walk some rows up to the floor and delete superseded ones; returns whether there are more."""
        after, floor = self._meta("pruned"), self._meta("floor")
        walk = {"after": after, "floor": floor, "rows": rows}
        upto, walked = self._writer.execute(WALKED, walk).fetchone()
        more = bool(walked == rows)
        if walked:
            self._writer.execute(PRUNE, {"after": after, "upto": upto})
        self._writer.execute("UPDATE meta SET value = ? WHERE name = 'pruned'", (upto if more else floor,))
        return more

    def release_pages(self, pages: int, *, spare: int) -> bool:
        """Return free pages to the file system; whether there are more to return."""
        return release_pages(self._writer, pages=pages, spare=spare)

    def recover(self, revision: int) -> None:
        """Reopen the file after a commit whose outcome is unknown, and undo what follows `revision`.

        What is undone was never delivered. Raises sqlite3.Error while the file cannot be used.
        """
        if self.path == MEMORY:
            raise sqlite3.OperationalError("a store in memory cannot be opened again")
        fresh = connect(self.path)
        try:
            check(fresh, self.path)
            fresh.execute("DELETE FROM log WHERE revision > ?", (revision,))
        except BaseException:
            fresh.close()
            raise
        self._writer.close()
        self._writer = fresh

    def _close_writer(self) -> None:
        """Close the current writer: recovering replaces it."""
        self._writer.close()

    def _meta(self, name: str) -> int:
        (value,) = self._writer.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(value)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise damaged(self.path, error) from error


def _row(event: Event) -> Row:
    stored = event.object
    return (
        stored.revision,
        event.previous.revision if event.previous else 0,
        event.type.value,
        *stored.key,
        stored.uid,
        _text(stored.labels) if stored.labels else None,
        _text(stored.owners) if stored.owners else None,
        stored.data,
    )


def _text(value: object) -> str:
    return orjson.dumps(value).decode()


def _stored(row: Sequence[Any]) -> Stored:
    revision, _, _, resource, namespace, name, uid, labels, owners, data = row
    key = Key(sys.intern(resource), sys.intern(namespace), name)
    return _object(key, revision, (uid, labels, owners, data))


def _event(row: Sequence[Any]) -> Event:
    after = _stored(row[:COLUMNS])
    superseded = row[1]
    before = _object(after.key, superseded, row[COLUMNS:]) if superseded else None
    return Event(type=EventType(row[2]), object=after, previous=before)


def _object(key: Key, revision: int, rest: Iterable[Any]) -> Stored:
    uid, labels, owners, data = rest
    return Stored(
        key=key,
        uid=uid,
        revision=revision,
        data=data,
        labels=orjson.loads(labels) if labels else NO_LABELS,
        owners=tuple(orjson.loads(owners)) if owners else (),
    )
