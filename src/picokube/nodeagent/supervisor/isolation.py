"""Isolation levels of containers. The supervisor uses the strongest level that the host supports."""

import contextlib
import os
import signal
from collections.abc import Callable
from enum import StrEnum

from picokube.nodeagent.supervisor import libc as calls
from picokube.nodeagent.supervisor import mount_namespace
from picokube.nodeagent.supervisor.protocol import Mount


class Isolation(StrEnum):
    """The namespaces of a container, and how its processes are killed when its program ends."""

    PID_NAMESPACE = "pid-namespace"
    """PID, mount and, without root, user namespace. The kernel kills all processes when the init process ends."""
    MOUNT_NAMESPACE = "mount-namespace"
    """Mount namespace. The init process adopts and kills orphans."""
    SUBREAPER = "subreaper"
    """No namespace. The init process adopts and kills orphans."""

    @property
    def has_mounts(self) -> bool:
        return self is not Isolation.SUBREAPER

    @property
    def flags(self) -> int:
        flags = {
            Isolation.PID_NAMESPACE: calls.CLONE_NEWNS | calls.CLONE_NEWPID,
            Isolation.MOUNT_NAMESPACE: calls.CLONE_NEWNS,
            Isolation.SUBREAPER: 0,
        }[self]
        return flags | calls.CLONE_NEWUSER if flags and os.geteuid() != 0 else flags


def best_isolation() -> Isolation:
    """The strongest level that the host supports."""
    for isolation in (Isolation.PID_NAMESPACE, Isolation.MOUNT_NAMESPACE):
        if _works(isolation):
            return isolation
    return Isolation.SUBREAPER


def fork_into(isolation: Isolation, child: Callable[[], None]) -> int:
    """Fork a process that runs `child` and exits. Returns its pid. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    libc = calls.LIBC
    pid = libc.clone(isolation.flags) if libc is not None and isolation.flags else os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            if libc is not None and isolation.flags & calls.CLONE_NEWUSER:
                # A non-dumpable process doesn't own its files in /proc.
                libc.prctl(calls.PR_SET_DUMPABLE, 1)
                mount_namespace.map_user(user, group)
                libc.prctl(calls.PR_SET_DUMPABLE, 0)
            child()
        finally:
            os._exit(127)
    return pid


def _works(isolation: Isolation) -> bool:
    def probe() -> None:
        if calls.LIBC is not None:
            mount = Mount(source="/proc/self", target="/jangar-probe/deep")
            own_proc = isolation is Isolation.PID_NAMESPACE
            mount_namespace.enter(calls.LIBC, (mount,), own_proc=own_proc)
            os._exit(0)

    if calls.LIBC is None:
        return False
    with contextlib.suppress(OSError):
        return os.waitpid(fork_into(isolation, probe), 0)[1] == 0
    return False
