"""Isolation levels of containers, and the file system of a container in its own mount namespace.

The supervisor uses the strongest level that the host supports. Mounting runs in the container's init process. To create
a missing mount point, its nearest existing directory is covered with a tmpfs of bind mounts. Nothing is ever created on
the host's file system.
"""

import contextlib
import os
import signal
import stat
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.kernel import (
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    Libc,
)
from picokube.nodeagent.supervisor.protocol import Mount

_PRESERVED_FLAGS = 2 | 4 | 8 | 1024 | 2048 | (1 << 21)
"""nosuid, nodev, noexec, noatime, nodiratime, relatime: a remount must preserve them."""
_OWN_USER = 0o700
_ENTERABLE, _READABLE = 0o711, 0o755


def map_user(user: int, group: int) -> None:
    """Map only the current user and group into a new user namespace."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def enter(
    libc: Libc, mounts: tuple[Mount, ...], hidden: tuple[str, ...] = (), *, own_proc: bool = False
) -> None:
    """Set up the mounts of the calling process. `hidden` directories contain only what is mounted in them.

    With `own_proc`, /proc shows only the processes of the caller's PID namespace.
    """
    libc.mount("none", "/", None, MS_REC | MS_PRIVATE)
    view = _View(libc)
    # Open the sources first, because a mount may cover them.
    opened = {mount: os.open(mount.source, os.O_PATH) for mount in mounts}
    ordered = sorted(mounts, key=lambda mount: mount.target.count("/"))
    inside = [
        mount
        for mount in ordered
        if any(Path(mount.target).is_relative_to(directory) for directory in hidden)
    ]
    if any(_nearest_existing(mount.target) == "/" for mount in ordered):
        # First, because a mount may cover the working directory, in which the new root is created.
        view.cover_root()
    for mount in ordered:
        if mount not in inside:
            view.mount(mount, opened[mount])
    # Later, because the new root is created in the working directory, which may be inside a hidden directory.
    for directory in hidden:
        view.hide(directory)
    for mount in inside:
        view.mount(mount, opened[mount])
    for source in opened.values():
        os.close(source)
    view.finish()
    if own_proc:
        libc.mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


class _View:
    """The mount namespace that is being set up."""

    def __init__(self, libc: Libc) -> None:
        self._libc = libc
        self._covered: set[str] = set()
        """Directories that belong to this view, in which mount points can be created."""
        self._root: int | None = None

    def cover_root(self) -> None:
        self._cover("/")
        self._covered.add("/")

    def hide(self, directory: str) -> None:
        if Path(directory).is_dir():
            flags = MS_NOSUID | MS_NODEV
            self._libc.mount("tmpfs", directory, "tmpfs", flags, f"mode={_ENTERABLE:o}")
            self._covered.add(directory)

    def mount(self, mount: Mount, source: int) -> None:
        is_directory = stat.S_ISDIR(os.fstat(source).st_mode)
        target = self._create_mount_point(mount.target, is_directory=is_directory)
        self._libc.mount(f"/proc/self/fd/{source}", target, None, MS_BIND | MS_REC)
        if mount.read_only:
            preserved = os.statvfs(target).f_flag & _PRESERVED_FLAGS
            self._libc.mount("none", target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | preserved)

    def finish(self) -> None:
        """Drop the old root. Call after the last mount, because sources may be in the old root."""
        if self._root is not None:
            self._libc.drop_old_root(self._root)
            os.close(self._root)

    def _create_mount_point(self, target: str, *, is_directory: bool) -> str:
        """The real path of the mount point, created if missing."""
        path = Path(os.path.realpath(target))
        if path.exists():
            return str(path)
        missing = [parent for parent in path.parents if not parent.is_dir()]
        existing = str(missing[-1].parent if missing else path.parent)
        if existing not in self._covered:
            self._cover(existing)
            self._covered.add(existing)
        if is_directory:
            missing.insert(0, path)
        for parent in reversed(missing):
            parent.mkdir()
            # Independent of the umask, because the container may run as another user.
            parent.chmod(_READABLE)
            self._covered.add(str(parent))
        if not is_directory:
            path.touch()
        return str(path)

    def _cover(self, directory: str) -> None:
        """Cover a directory with a tmpfs of bind mounts. For the root, the tmpfs becomes the new root."""
        mount_point = str(Path.cwd()) if directory == "/" else directory
        original = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        mode = stat.S_IMODE(os.fstat(original).st_mode)
        names = [path.name for path in Path(f"/proc/self/fd/{original}").iterdir()]
        self._libc.mount("tmpfs", mount_point, "tmpfs", 0, f"mode={mode:o}")
        cover = os.open(mount_point, os.O_PATH | os.O_DIRECTORY)
        for name in names:
            _bind(self._libc, f"/proc/self/fd/{original}/{name}", f"/proc/self/fd/{cover}/{name}")
        os.close(original)
        if directory == "/":
            # Not chroot: in a chroot, the kernel denies user namespaces, which sandboxes need.
            self._libc.pivot_root(cover)
            self._root = cover
        else:
            os.close(cover)


def _nearest_existing(target: str) -> str:
    """The path itself if it exists, otherwise its nearest existing parent."""
    path = Path(os.path.realpath(target))
    return str(next(parent for parent in (path, *path.parents) if parent.exists()))


def _bind(libc: Libc, source: str, target: str) -> None:
    try:
        mode = Path(source).lstat().st_mode
        if stat.S_ISLNK(mode):
            Path(target).symlink_to(Path(source).readlink())
            return
        if stat.S_ISDIR(mode):
            Path(target).mkdir(_OWN_USER)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        libc.mount(source, target, None, MS_BIND | MS_REC)
    except OSError:
        # The view lacks entries that vanished or can't be bound.
        return


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
            Isolation.PID_NAMESPACE: kernel.CLONE_NEWNS | kernel.CLONE_NEWPID,
            Isolation.MOUNT_NAMESPACE: kernel.CLONE_NEWNS,
            Isolation.SUBREAPER: 0,
        }[self]
        return flags | kernel.CLONE_NEWUSER if flags and os.geteuid() != 0 else flags


def best_isolation() -> Isolation:
    """The strongest level that the host supports."""
    for isolation in (Isolation.PID_NAMESPACE, Isolation.MOUNT_NAMESPACE):
        if _works(isolation):
            return isolation
    return Isolation.SUBREAPER


def fork_into(isolation: Isolation, child: Callable[[], None]) -> int:
    """Fork a process that runs `child` and exits. Returns its pid. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    libc = kernel.LIBC
    pid = libc.clone(isolation.flags) if libc is not None and isolation.flags else os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            if libc is not None and isolation.flags & kernel.CLONE_NEWUSER:
                # A non-dumpable process doesn't own its files in /proc.
                libc.prctl(kernel.PR_SET_DUMPABLE, 1)
                map_user(user, group)
                libc.prctl(kernel.PR_SET_DUMPABLE, 0)
            child()
        finally:
            os._exit(127)
    return pid


def _works(isolation: Isolation) -> bool:
    def probe() -> None:
        if kernel.LIBC is not None:
            mount = Mount(source="/proc/self", target="/jangar-probe/deep")
            own_proc = isolation is Isolation.PID_NAMESPACE
            enter(kernel.LIBC, (mount,), own_proc=own_proc)
            os._exit(0)

    if kernel.LIBC is None:
        return False
    with contextlib.suppress(OSError):
        return os.waitpid(fork_into(isolation, probe), 0)[1] == 0
    return False
