"""Reads process information from /proc: boot id, start times, descendants and container ids."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from picokube.nodeagent.supervisor.protocol import MARKER

PROC = Path("/proc")
_START_TIME = 19
"""Index of the start time in /proc/PID/stat, counted after the process name."""


def boot_id() -> str:
    """An id that changes with every boot of the machine."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return "unknown"


def start_ticks(pid: int) -> int:
    """The start time of a process in clock ticks since boot. 0 if unknown."""
    with suppress(OSError, IndexError, ValueError):
        return int((PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[_START_TIME])
    return 0


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    with suppress(OSError, IndexError):
        return (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    return False


def children(parent: int) -> list[int]:
    """The children of all threads of a process, including adopted ones."""
    pids: list[int] = []
    with suppress(OSError):
        for thread in (PROC / str(parent) / "task").iterdir():
            with suppress(OSError):
                pids += [int(pid) for pid in (thread / "children").read_text().split()]
    return pids


def descendants(ancestor: int) -> list[int]:
    """All descendants of a process in breadth-first order."""
    pids = children(ancestor)
    for pid in pids:
        pids += children(pid)
    return pids


def tasks_of(user: int) -> int:
    """The number of processes and threads of a user, which the kernel counts against RLIMIT_NPROC."""
    count = 0
    with suppress(OSError):
        for entry in PROC.iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    count += sum(1 for _ in (entry / "task").iterdir())
    return count


def container_id(pid: int) -> str | None:
    """The id of the container that a process belongs to."""
    with suppress(OSError):
        for entry in (PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name == MARKER.encode():
                return value.decode(errors="replace")
    return None


def container_processes() -> Iterator[tuple[int, str]]:
    """The pid and container id of every process that belongs to a container."""
    with suppress(OSError):
        for entry in PROC.iterdir():
            if entry.name.isdigit() and (container := container_id(int(entry.name))) is not None:
                yield int(entry.name), container
