"""The SQLite file: its tables, its settings, who may open it. Knows no objects.

`log` is append-only; a row is a revision of an object and names the revision it follows. What a row makes superfluous
(the row it follows; itself, if it is a removal) is deleted once the floor has passed it, and nothing else ever is.
So the highest revision ever given is the newest row's or the floor, whichever is higher.
"""

import fcntl
import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from kubekit.private_files import create_private, enable_shrinking
from picokube.apiserver.storage.errors import CannotOpen, Corrupt, InUse, WrongSchema

MEMORY = ":memory:"
APPLICATION = 0x6A616E67
"""`jang`; says in the file's header that it is ours."""
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
        # A full disk, or a reader beside us: the file works as it is, and the next start tries again.
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
    """SQLite's own words for what is wrong with a file, beside its name."""
    if error_code(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return Corrupt(path, f"damaged ({error}); {REMEDY.format(directory=Path(path).parent)}")
    return CannotOpen(path, str(error))


def error_code(error: Exception) -> int | None:
    """SQLite's kind of error, without the detail in the upper bits; None for errors of others."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF
