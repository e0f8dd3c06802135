"""What the machine has run out of, read from an error: a sentence with the limit and what to do about it."""

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from typing import Final

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_THREAD: Final = "can't start new thread"


def shortage(error: BaseException) -> str | None:
    """The first shortage among the error and its causes; None if no resource was missing."""
    return next((found for each in causes(error) if (found := _shortage(each)) is not None), None)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, the members of groups included; outermost first."""
    seen: set[int] = set()
    left: list[BaseException] = [error]
    while left:
        current = left.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            left.extend(current.exceptions)
        if current.__cause__ is not None:
            left.append(current.__cause__)
        elif current.__context__ is not None and not current.__suppress_context__:
            left.append(current.__context__)


def _shortage(error: BaseException) -> str | None:
    match error:
        case MemoryError():
            return "out of memory: end other programs, or raise the memory limit of this one"
        case RuntimeError() if _NO_THREAD in str(error):
            return _no_processes()
        case sqlite3.Error() if error_is_full(error):
            return "no space left on device: free space and start again"
        case OSError():
            return _of_number(error)
        case _:
            return None


def error_is_full(error: sqlite3.Error) -> bool:
    """Whether SQLite found no room on the disk."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF == sqlite3.SQLITE_FULL


def _of_number(error: OSError) -> str | None:
    where = f" ({error.filename})" if error.filename else ""
    if error.errno in _NO_ROOM:
        return f"{_strerror(error)}{where}: free space and start again"
    match error.errno:
        case errno.EMFILE:
            limit = _soft_limit(resource.RLIMIT_NOFILE)
            return f"too many open files: this process may open {limit} (ulimit -n); raise the limit"
        case errno.ENFILE:
            return "too many open files on this machine (fs.file-max): end other programs, or raise the limit"
        case errno.EAGAIN:
            return _no_processes()
        case errno.ENOMEM:
            return "out of memory: end other programs, or raise the memory limit of this one"
        case _:
            return None


def _no_processes() -> str:
    return (
        f"no more processes or threads can be started: this user may have {_soft_limit(resource.RLIMIT_NPROC)}; "
        "raise the limit (ulimit -u), or the pids limit of the container"
    )


def _soft_limit(which: int) -> str:
    soft, _ = resource.getrlimit(which)
    return "any number" if soft == resource.RLIM_INFINITY else str(soft)


def _strerror(error: OSError) -> str:
    return (error.strerror or os.strerror(error.errno or 0)).lower()
