"""Resources of the machine that ran out or are about to: which one, and what to do about it."""

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

MIN_FREE_BYTES: Final = 256 * 1024 * 1024
MAX_DESCRIPTORS_SHARE: Final = 0.8
_MEGABYTE: Final = 1024 * 1024


class Machine(NamedTuple):
    """A measurement; None if the system does not report the value."""

    free_bytes: int | None
    descriptors: int | None
    descriptors_limit: int | None


def machine_at(directory: Path) -> Machine:
    """Measure the file system of the directory and the descriptors of this process."""
    try:
        disk = os.statvfs(directory)
        free: int | None = disk.f_bavail * disk.f_frsize
    except OSError:
        free = None
    try:
        descriptors: int | None = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - of names, without the paths
    except OSError:
        descriptors = None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Machine(free, descriptors, None if soft == resource.RLIM_INFINITY else soft)


def machine_problems(machine: Machine, directory: Path) -> list[str]:
    """A message for each resource that is about to run out."""
    problems = []
    if machine.free_bytes is not None and machine.free_bytes < MIN_FREE_BYTES:
        left = f"{machine.free_bytes / _MEGABYTE:.0f} MB"
        problems.append(f"the disk of {directory} has {left} left: free space, or writes will fail")
    limit, used = machine.descriptors_limit, machine.descriptors
    if limit is not None and used is not None and used > limit * MAX_DESCRIPTORS_SHARE:
        problems.append(
            f"{used} of {limit} file descriptors are in use: raise the limit (ulimit -n) and restart"
        )
    return problems


_DISK_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_THREAD: Final = "can't start new thread"


def shortage(error: BaseException) -> str | None:
    """A message for the first shortage among the error and its causes; None if there is none."""
    return next((message for cause in causes(error) if (message := _shortage(cause)) is not None), None)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its causes and contexts, and the members of exception groups; outermost first."""
    visited: set[int] = set()
    pending: list[BaseException] = [error]
    while pending:
        current = pending.pop(0)
        if id(current) in visited:
            continue
        visited.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            pending.extend(current.exceptions)
        if current.__cause__ is not None:
            pending.append(current.__cause__)
        elif current.__context__ is not None and not current.__suppress_context__:
            pending.append(current.__context__)


def _shortage(error: BaseException) -> str | None:
    match error:
        case MemoryError():
            return "out of memory: close other programs, or raise the memory limit of this one"
        case RuntimeError() if _NO_THREAD in str(error):
            return _process_limit_message()
        case sqlite3.Error() if error_is_full(error):
            return "no space left on device: free space and start again"
        case OSError():
            return _os_shortage(error)
        case _:
            return None


def error_is_full(error: sqlite3.Error) -> bool:
    """Whether SQLite failed because the disk is full."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_FULL


def _os_shortage(error: OSError) -> str | None:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in _DISK_FULL:
        return f"{_strerror(error)}{where}: free space and start again"
    match error.errno:
        case errno.EMFILE:
            limit = _soft_limit(resource.RLIMIT_NOFILE)
            return f"too many open files: the limit of this process is {limit} (ulimit -n); raise the limit"
        case errno.ENFILE:
            return (
                "too many open files on this machine (fs.file-max): close other programs, or raise the limit"
            )
        case errno.EAGAIN:
            return _process_limit_message()
        case errno.ENOMEM:
            return "out of memory: close other programs, or raise the memory limit of this one"
        case _:
            return None


def _process_limit_message() -> str:
    return (
        f"cannot start more processes or threads: the limit of this user is {_soft_limit(resource.RLIMIT_NPROC)}; "
        "raise the limit (ulimit -u), or the pids limit of the container"
    )


def _soft_limit(which: int) -> str:
    soft, _ = resource.getrlimit(which)
    return "unlimited" if soft == resource.RLIM_INFINITY else str(soft)


def _strerror(error: OSError) -> str:
    return (error.strerror or os.strerror(error.errno or 0)).lower()
