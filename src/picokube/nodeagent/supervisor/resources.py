"""Raises the resource limits of the supervisor, and computes how many containers fit."""

import contextlib
import os
import resource

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.protocol import Refusal

FILES_PER_CONTAINER = 3
"""Two pipes and the log."""
RESERVED_FILES = 48
"""For the journal, connections and containers that are starting."""
MAX_FILES = 1 << 20
PROCESSES_PER_CONTAINER = 3
"""The init process, the program and one child."""
MAX_COUNTED_PROCESSES = 8192
"""Higher limits are not checked, because counting all processes would be too slow."""


def raise_limits() -> int:
    """Raise the soft limits of open files and processes. Returns the previous soft limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    with contextlib.suppress(OSError, ValueError):
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
            tasks = self._tasks.setdefault(owner, kernel.tasks_of(owner))
            if (refusal := too_many_processes(tasks, limit)) is not None:
                return refusal
            self._tasks[owner] += PROCESSES_PER_CONTAINER
        self._running += 1
        return None
