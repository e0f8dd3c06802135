"""System calls that Python doesn't provide: mounts, namespaces and process attributes. Linux only."""

import ctypes
import os
import platform
from contextlib import suppress

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME = 1, 4, 15
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
_SYS_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220, "ppc64le": 120}

_SYS_CLOSE_RANGE = 436
"""The same on every architecture, since Linux 5.9."""


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


def load() -> None:
    """Load the library. Call before the first fork."""
    global LIBC  # noqa: PLW0603 - a library is loaded once per process
    with suppress(OSError, AttributeError):
        LIBC = Libc()
