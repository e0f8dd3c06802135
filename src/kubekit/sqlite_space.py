"""Creates private SQLite files and returns their free pages to the file system."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

INCREMENTAL: Final = 2
"""Value of `PRAGMA auto_vacuum` for a file that can shrink incrementally."""
CONVERT_BYTES: Final = 256 * 1024 * 1024
"""Larger files of older versions are not converted, because rewriting them would delay startup."""


def create_private(path: Path) -> None:
    """Create an empty private file if it is missing. SQLite gives its side files the same mode."""
    with suppress(FileExistsError, NotADirectoryError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def enable_shrinking(connection: sqlite3.Connection) -> None:
    """Let the file shrink; a file of an older version is rewritten once.

    Call it outside a transaction, and for a new file before its first table is created.
    """
    if _number(connection, "PRAGMA auto_vacuum") == INCREMENTAL:
        return
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    pages = _number(connection, "PRAGMA page_count")
    used = pages - _number(connection, "PRAGMA freelist_count")
    if pages and used * _number(connection, "PRAGMA page_size") <= CONVERT_BYTES:
        connection.execute("VACUUM")


def release_pages(connection: sqlite3.Connection, *, pages: int, spare: int) -> bool:
    """Release up to `pages` free pages and keep `spare`; returns whether more can be released."""
    free = _number(connection, "PRAGMA freelist_count") - spare
    if free <= 0 or _number(connection, "PRAGMA auto_vacuum") != INCREMENTAL:
        return False
    for _ in range(min(free, pages)):
        # The pragma returns a row per page, and the driver fetches only the first.
        connection.execute("PRAGMA incremental_vacuum(1)").close()
    return free > pages


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])
