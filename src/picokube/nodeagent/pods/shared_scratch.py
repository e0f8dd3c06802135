"""Scratch directories that another user can reach without a mount namespace: outside of root's data directory.

Only an agent that is root, on a system that allows no mount namespaces, needs one: its containers run as other users,
who cannot enter the data directory. Everywhere else scratch directories lie below the data directory.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

LINK = "shared-scratch"
_MODE = 0o711
"""Others pass through it to what they were told of, and cannot look around."""


def shared_scratch(data: Path, base: Path | None = None) -> Path | None:
    """The directory that belongs to a data directory, made where there is none; None where users could not reach it."""
    known = data / LINK
    with contextlib.suppress(OSError):
        found = known.readlink()
        if _is_own(found) and _is_open(found.parent):
            return found
    base = (base or Path(tempfile.gettempdir())).resolve()
    if not _is_open(base):
        return None
    made = Path(tempfile.mkdtemp(prefix="jangar-scratch-", dir=base))
    made.chmod(_MODE)
    new = known.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.symlink_to(made)
    new.replace(known)
    return made


def remove_shared_scratch(data: Path) -> None:
    """Remove it when nothing is left in it: the next agent makes another."""
    with contextlib.suppress(OSError):
        (data / LINK).readlink().rmdir()


def _is_own(directory: Path) -> bool:
    found = directory.lstat()
    return (
        stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == _MODE
    )


def _is_open(directory: Path) -> bool:
    return all(each.stat().st_mode & stat.S_IXOTH for each in (directory, *directory.parents))
