"""The file of a SQLite database: who may read it, and its size, which follows what is in it."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

INCREMENTAL: Final = 2
"""What `PRAGMA auto_vacuum` answers for a file that can shrink in steps."""
CONVERT_BYTES: Final = 256 * 1024 * 1024
"""A file of an older version with more content than this is left as it is: rewriting it would delay the start."""


def create_private(path: Path) -> None:
    """Make an empty file for its owner alone, if none is there. SQLite gives the files beside it the same mode."""
    with suppress(FileExistsError, NotADirectoryError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def enable_shrinking(connection: sqlite3.Connection) -> None:
    """Make the file able to shrink; a file that an older version wrote is rewritten once.

    Call it outside a transaction. A new file needs it before its first table.
    """
    if _number(connection, "PRAGMA auto_vacuum") == INCREMENTAL:
        return
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    pages = _number(connection, "PRAGMA page_count")
    used = pages - _number(connection, "PRAGMA freelist_count")
    if pages and used * _number(connection, "PRAGMA page_size") <= CONVERT_BYTES:
        connection.execute("VACUUM")


def release_pages(connection: sqlite3.Connection, *, pages: int, spare: int) -> bool:
    """Give up to `pages` free pages back and keep `spare` of them for later; whether more can be given back."""
    free = _number(connection, "PRAGMA freelist_count") - spare
    if free <= 0 or _number(connection, "PRAGMA auto_vacuum") != INCREMENTAL:
        return False
    for _ in range(min(free, pages)):
        # It answers with a row without columns for each page, and the driver asks for the first one alone.
        connection.execute("PRAGMA incremental_vacuum(1)").close()
    return free > pages


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])
