"""What the kernel tells of processes: this boot, when one was born, whose it is. Knows less where there is no /proc."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jangar.nodeagent.supervisor.orders import MARKER

PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
_START_TIME = 19
"""Place of the start time in /proc/PID/stat, counted after the name."""


def boot_id() -> str:
    """Differs after every start of the machine."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return "unknown"


def birth(pid: int) -> int:
    """When a process started, in ticks since boot; 0 where nobody knows."""
    with suppress(OSError, IndexError, ValueError):
        return int((PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[_START_TIME])
    return 0


def adopt_orphans() -> None:
    """Processes whose parent died become ours, so that none of a container's gets away."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    with suppress(OSError):
        return [int(pid) for pid in (PROC / f"self/task/{os.getpid()}/children").read_text().split()]
    return []


def owner_of(pid: int) -> str | None:
    """The id of the container that a process belongs to."""
    with suppress(OSError):
        for entry in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == MARKER.encode():
                return value.decode(errors="replace")
    return None


def marked() -> Iterator[tuple[int, str]]:
    """Every process of this machine that belongs to a container, and the container's id."""
    with suppress(OSError):
        for entry in PROC.iterdir():
            if entry.name.isdigit() and (owner := owner_of(int(entry.name))) is not None:
                yield int(entry.name), owner
