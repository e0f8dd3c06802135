"""The data directory belongs to its owner alone: no other user reads objects, Secrets, logs or tokens in it."""

import os
import stat
from pathlib import Path
from typing import Final

OTHERS: Final = 0o077


class NotPrivate(Exception):
    """The directory cannot be kept from other users; the message says why and what to do."""


def private_directory(directory: Path, prefixes: tuple[str, ...]) -> None:
    """Make the directory if it is missing, and take other users' rights on it and on files with these prefixes away.

    Raises NotPrivate and OSError.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = directory.stat()
    if found.st_uid != os.geteuid():
        raise NotPrivate(
            f"{directory} belongs to user {found.st_uid}, and this process runs as user {os.geteuid()}: "
            "choose a directory of your own with --data-dir"
        )
    names = [entry.name for entry in os.scandir(directory)]
    ours = [name for name in names if name.startswith(prefixes)]
    if stat.S_IMODE(found.st_mode) & OTHERS:
        if names and not ours:
            raise NotPrivate(
                f"{directory} holds files of others, and other users can read it: choose a directory of its own with "
                f"--data-dir, or make this one private (chmod 700 {directory})"
            )
        directory.chmod(0o700)
    for name in ours:
        _close(directory / name)


def write_private(path: Path, text: str) -> None:
    """Replace a file that its owner alone may read: a reader, and a disk without room, see the old one or the new."""
    beside = path.with_name(f".{path.name}.new")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _close(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) & OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~OTHERS)
    except FileNotFoundError:
        # SQLite removes its files when the last one closes them.
        return
