"""What this machine lets the supervisor have: limits raised at the start, and how many containers fit below them."""

import contextlib
import os
import resource

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.orders import Refusal

FILES_PER_CONTAINER = 3
"""Two pipes and the log."""
RESERVED_FILES = 48
"""For the journal, the connections and the starts under way."""
MAX_FILES = 1 << 20
PROCESSES_PER_CONTAINER = 3
"""The init process, the program and one that the program starts."""
MAX_COUNTED_PROCESSES = 8192
"""A higher limit is not counted against: reading every process of the machine would cost more than it saves."""


def raise_limits() -> int:
    """Raise the soft limits of files and processes to the hard ones. The soft limit of files as it was."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
    return soft


def max_containers(files: int) -> int:
    """How many containers may run at once with so many open files allowed; at least one."""
    return max((files - RESERVED_FILES) // FILES_PER_CONTAINER, 1)


def too_many_files(running: int, files: int) -> Refusal | None:
    """Why one more container would need more files than there are."""
    if running < max_containers(files):
        return None
    message = (
        f"{max_containers(files)} containers run, as many as the limit of {files} open files allows; this one starts "
        "when another ends, or after `jangar up` was started with a higher `ulimit -n`"
    )
    return Refusal(reason="TooManyOpenFiles", message=message)


def too_many_processes(tasks: int, limit: int) -> Refusal | None:
    """Why one more container would need more processes than its user may have."""
    if tasks + PROCESSES_PER_CONTAINER <= limit:
        return None
    message = (
        f"the user of the container may have {limit} processes and has as many; this one starts when others end, or "
        "after `jangar up` was started with a higher `ulimit -u`"
    )
    return Refusal(reason="TooManyProcesses", message=message)


class Room:
    """Whether another container fits. Counts processes once a batch."""

    def __init__(self, running: int) -> None:
        self._running = running
        self._tasks: dict[int, int] = {}

    def take(self, user: int | None) -> Refusal | None:
        """Keep room for one more container; why there is none."""
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
