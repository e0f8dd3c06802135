"""Restricts a data directory to its owner, because it holds objects, Secrets, logs and tokens."""

import os
import stat
from pathlib import Path
from typing import Final

OTHERS: Final = 0o077


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
