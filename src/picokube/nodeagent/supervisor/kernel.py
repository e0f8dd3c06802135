"""The interface to the kernel: processes in /proc, system calls that Python doesn't provide, and resource limits.

Linux only.
"""

import ctypes
import os
import platform
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from picokube.nodeagent.supervisor.protocol import MARKER, Refusal

PROC = Path("/proc")
_START_TIME = 19
"""Index of the start time in /proc/PID/stat, counted after the process name."""
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME = 1, 4, 15
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
_SYS_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}
_SYS_CLOSE_RANGE = 436
"""The same on every architecture, since Linux 5.9."""
FILES_PER_CONTAINER = 3
"""Two pipes and the log."""
RESERVED_FILES = 48
"""For the journal, connections and containers that are starting."""
MAX_FILES = 1 << 20
PROCESSES_PER_CONTAINER = 3
"""The init process, the program and one child."""
MAX_COUNTED_PROCESSES = 8192
"""Higher limits are not checked, because counting all processes would be too slow."""


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


class Libc:
    """System calls that raise OSError with the name of the call or the path."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        # PyDLL keeps the GIL: the child of `clone` must return as the thread that called it.
        self._libc_with_gil = ctypes.PyDLL(None, use_errno=True)

    def clone(self, flags: int) -> int:
        """Like `os.fork` with new namespaces for the child. Only for single-threaded processes."""
        number = _SYS_CLONE.get(platform.machine())
        if number is None:
            raise OSError(38, "clone is not supported on this architecture", platform.machine())
        pid = self._libc_with_gil.syscall(
            ctypes.c_long(number), ctypes.c_ulong(flags | 17), None, None, None, None
        )
        self._check(pid, "clone")
        return int(pid)

    def mount(self, source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        result = self._libc.mount(
            source.encode(),
            target.encode(),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            data.encode() if data else None,
        )
        self._check(result, target)

    def pivot_root(self, directory: int) -> None:
        """Make an open directory, which is a mount point, the root. The old root is stacked on it."""
        os.fchdir(directory)
        self._check(self._libc.pivot_root(b".", b"."), "pivot_root")
        os.chdir("/")

    def drop_old_root(self, directory: int) -> None:
        """Unmount the old root. Call after `pivot_root` and everything that needs the old root."""
        os.fchdir(directory)
        self._check(self._libc.umount2(b".", MNT_DETACH), "umount2")
        os.chdir("/")

    def prctl(self, option: int, value: int) -> None:
        self._check(self._libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), "prctl")

    def set_name(self, name: bytes) -> None:
        """Set the process name that `ps` shows."""
        self._libc.prctl(PR_SET_NAME, ctypes.c_char_p(name), 0, 0, 0)

    def close_from(self, first: int, last: int = 0xFFFFFFFF) -> None:
        """Close the file descriptors from `first` to `last`."""
        if first <= last:
            arguments = (ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(0))
            self._check(self._libc.syscall(ctypes.c_long(_SYS_CLOSE_RANGE), *arguments), "close_range")

    def _check(self, result: int, name: str) -> None:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)


LIBC: Libc | None = None


def load_libc() -> None:
    """Load the library. Call before the first fork."""
    global LIBC  # noqa: PLW0603 - a library is loaded once per process
    with suppress(OSError, AttributeError):
        LIBC = Libc()


def raise_limits() -> int:
    """Raise the soft limits of open files and processes. Returns the previous soft limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
    return soft


def max_containers(files: int) -> int:
    """The number of containers that a limit of open files allows. At least one."""
    return max((files - RESERVED_FILES) // FILES_PER_CONTAINER, 1)


def too_many_files(running: int, files: int) -> Refusal | None:
    """The refusal if another container would exceed the limit of open files."""
    if running < max_containers(files):
        return None
    message = (
        f"{max_containers(files)} containers are running, the maximum for a limit of {files} open files; this one "
        "starts when another ends. To raise the limit, restart `jangar up` with a higher `ulimit -n`"
    )
    return Refusal(reason="TooManyOpenFiles", message=message)


def too_many_processes(tasks: int, limit: int) -> Refusal | None:
    """The refusal if another container would exceed the process limit of its user."""
    if tasks + PROCESSES_PER_CONTAINER <= limit:
        return None
    message = (
        f"the user of the container has reached its limit of {limit} processes; the container starts when others end. "
        "To raise the limit, restart `jangar up` with a higher `ulimit -u`"
    )
    return Refusal(reason="TooManyProcesses", message=message)


class Capacity:
    """The remaining capacity for containers. Counts processes once per batch of starts."""

    def __init__(self, running: int) -> None:
        self._running = running
        self._tasks: dict[int, int] = {}

    def reserve(self, user: int | None) -> Refusal | None:
        """Reserve capacity for a container, or return why there is none."""
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if (refusal := too_many_files(self._running, files)) is not None:
            return refusal
        limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
        owner = os.geteuid() if user is None else user
        if owner != 0 and limit != resource.RLIM_INFINITY and limit <= MAX_COUNTED_PROCESSES:
            tasks = self._tasks.setdefault(owner, tasks_of(owner))
            if (refusal := too_many_processes(tasks, limit)) is not None:
                return refusal
            self._tasks[owner] += PROCESSES_PER_CONTAINER
        self._running += 1
        return None
