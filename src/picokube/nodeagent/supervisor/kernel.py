"""What the kernel tells of processes: this boot, when one was born, whose it is. Knows less where there is no /proc."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from picokube.nodeagent.supervisor.orders import MARKER

PROC = Path("/proc")
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


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    with suppress(OSError, IndexError):
        return (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    return False


def children(parent: int) -> list[int]:
    """Processes that any thread of a process started, or that it adopted."""
    found: list[int] = []
    with suppress(OSError):
        for thread in (PROC / str(parent) / "task").iterdir():
            with suppress(OSError):
                found += [int(pid) for pid in (thread / "children").read_text().split()]
    return found


def descendants(ancestor: int) -> list[int]:
    """Children, their children and so on; those nearest to the ancestor first."""
    found = children(ancestor)
    for pid in found:
        found += children(pid)
    return found


def tasks_of(user: int) -> int:
    """How many processes and threads of a user run: what the kernel counts against RLIMIT_NPROC."""
    count = 0
    with suppress(OSError):
        for entry in PROC.iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    count += sum(1 for _ in (entry / "task").iterdir())
    return count


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
