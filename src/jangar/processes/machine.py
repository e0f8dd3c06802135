"""Free disk space and file descriptors of the machine, as `jangar status` and `jangar doctor` report them."""

import os
import resource
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
