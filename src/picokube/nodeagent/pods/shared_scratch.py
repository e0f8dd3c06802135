"""A scratch directory outside the data directory, which other users can reach without a mount namespace.

Only an agent that runs as root on a system without mount namespaces needs it: containers run as other users, who can't
enter the data directory. Otherwise, scratch directories are inside the data directory.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path

LINK = "shared-scratch"
_MODE = 0o711
"""Other users can enter it but not list it."""


def shared_scratch(data: Path, base: Path | None = None) -> Path | None:
    """The shared directory of a data directory, created if missing. None if other users could not reach it."""
    link = data / LINK
    with contextlib.suppress(OSError):
        existing = link.readlink()
        if _is_valid(existing) and _is_reachable(existing.parent):
            return existing
    base = (base or Path(tempfile.gettempdir())).resolve()
    if not _is_reachable(base):
        return None
    directory = Path(tempfile.mkdtemp(prefix="jangar-scratch-", dir=base))
    directory.chmod(_MODE)
    new_link = link.with_suffix(".new")
    new_link.unlink(missing_ok=True)
    new_link.symlink_to(directory)
    new_link.replace(link)
    return directory


def remove_shared_scratch(data: Path) -> None:
    """Remove the shared directory if it is empty."""
    with contextlib.suppress(OSError):
        (data / LINK).readlink().rmdir()


def _is_valid(directory: Path) -> bool:
    info = directory.lstat()
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and stat.S_IMODE(info.st_mode) == _MODE


def _is_reachable(directory: Path) -> bool:
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (directory, *directory.parents))
