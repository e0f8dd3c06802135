"""Rows of revisions: append, read back, look at the past, forget. Knows SQL and one file; no loop, no thread.

Two connections: one writes, inside a transaction of the caller's; one reads what is committed. In memory they are one.
"""

import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from kubekit.private_files import release_pages
from picokube.apiserver.storage.schema import MEMORY, FileLock, check, connect, damaged, prepare
from picokube.apiserver.storage.store import Event, EventType, Key, Stored

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
                    # It reads in order and seldom twice; what is read often is in memory as objects.
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
        asked = {"resource": resource, "namespace": namespace, "revision": revision}
        with self._translated():
            return [_stored(row) for row in self._reader.execute(AS_OF, asked)]

    def between(self, after: int, upto: int, resource: str, namespace: str | None) -> list[Event]:
        """Events of a resource after one revision and up to another; neither is older than the floor."""
        asked = {"resource": resource, "namespace": namespace, "after": after, "upto": upto}
        with self._translated():
            return [_event(row) for row in self._reader.execute(BETWEEN, asked)]

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
        """Walk some rows up to the floor and delete what they made superfluous; whether there is more to walk."""
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
        """Open the file anew after a commit whose outcome is unknown, and undo what follows `revision`.

        Nobody was told of what is undone. Raises sqlite3.Error while the file cannot be used.
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
        """The one there is then: recovering replaces it."""
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
