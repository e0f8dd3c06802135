"""What the runner asks of Linux: that no process of a command outlives its end. Does nothing elsewhere."""

import ctypes
import os
import signal
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Processes of the command whose parent ended become ours, also those that left its group."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent() -> None:
    """In the child, before it becomes the command: a runner that is killed leaves no command behind."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def children() -> list[int]:
    """Processes whose parent we are, adopted ones included."""
    me = os.getpid()
    with suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    return []


def _prctl(option: int, value: int) -> None:
    with suppress(OSError, AttributeError):
        _LIBRARY.prctl(option, value, 0, 0, 0)


_LIBRARY = ctypes.CDLL(None)
