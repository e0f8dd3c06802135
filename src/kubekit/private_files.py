"""Restricts a data directory to its owner, and lets private SQLite files return free pages to the file system."""

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

OTHERS: Final = 0o077
INCREMENTAL: Final = 2
"""Value of `PRAGMA auto_vacuum` for a file that can shrink incrementally."""
CONVERT_BYTES: Final = 256 * 1024 * 1024
"""Larger files of older versions are not converted, because rewriting them would delay startup."""


class NotPrivate(Exception):
    """The directory cannot be made private; the message says why and what to do."""


def private_directory(directory: Path, prefixes: tuple[str, ...]) -> None:
    """Create the directory if it is missing, and remove access of other users to it and to files with these prefixes.

    Raises NotPrivate and OSError.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = directory.stat()
    if status.st_uid != os.geteuid():
        raise NotPrivate(
            f"{directory} belongs to user {status.st_uid}, but this process runs as user {os.geteuid()}: "
            "choose your own directory with --data-dir"
        )
    names = [entry.name for entry in os.scandir(directory)]
    ours = [name for name in names if name.startswith(prefixes)]
    if stat.S_IMODE(status.st_mode) & OTHERS:
        if names and not ours:
            raise NotPrivate(
                f"{directory} contains other files and is readable by other users: choose a separate directory with "
                f"--data-dir, or make this one private (chmod 700 {directory})"
            )
        directory.chmod(0o700)
    for name in ours:
        _make_private(directory / name)


def write_private(path: Path, text: str) -> None:
    """Replace a private file atomically: readers see the old or the new text, also if the disk is full."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _make_private(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:
        # SQLite removes its files when the last process closes them.
        return


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
