"""What the machine has left for the control plane, as `jangar status` and `jangar doctor` tell it."""

import os
import resource
from pathlib import Path
from typing import Final, NamedTuple

MIN_FREE_BYTES: Final = 256 * 1024 * 1024
MAX_DESCRIPTORS_SHARE: Final = 0.8
_MEGABYTE: Final = 1024 * 1024


class Machine(NamedTuple):
    """As it was found. None stands for what the system does not tell."""

    free_bytes: int | None
    descriptors: int | None
    descriptors_limit: int | None


def machine_at(directory: Path) -> Machine:
    """The disk of a directory, and the descriptors of this process."""
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


def machine_problems(found: Machine, directory: Path) -> list[str]:
    """What is about to run out, as sentences."""
    told = []
    if found.free_bytes is not None and found.free_bytes < MIN_FREE_BYTES:
        left = f"{found.free_bytes / _MEGABYTE:.0f} MB"
        told.append(f"the disk of {directory} has {left} left: free space, or writes will be refused")
    limit, used = found.descriptors_limit, found.descriptors
    if limit is not None and used is not None and used > limit * MAX_DESCRIPTORS_SHARE:
        told.append(f"{used} of {limit} file descriptors are in use: raise the limit (ulimit -n) and restart")
    return told
