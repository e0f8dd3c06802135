"""The file system of one container: volumes stand at their paths, private directories hide the machine's.

Runs in the container's init process, which has a mount namespace of its own. Where a path does not exist, its nearest
directory is covered by a copy made of binds, in which it can be made: nothing is ever created on the machine itself.
"""

import os
import stat
from pathlib import Path

from picokube.nodeagent.supervisor.libc import (
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
from picokube.nodeagent.supervisor.orders import Mount

_KEPT = 2 | 4 | 8 | 1024 | 2048 | (1 << 21)
"""nosuid, nodev, noexec, noatime, nodiratime, relatime: a remount must not take them away."""
_OWN_USER = 0o700
_ENTERABLE, _READABLE = 0o711, 0o755


def map_user(user: int, group: int) -> None:
    """In a new user namespace the process stays who it was, and no other user exists."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def enter(
    libc: Libc, mounts: tuple[Mount, ...], hidden: tuple[str, ...] = (), *, own_proc: bool = False
) -> None:
    """Make the view of the calling process; `hidden` directories are empty in it but for what is mounted there.

    `own_proc` shows only the processes of the caller's PID namespace in /proc.
    """
    libc.mount("none", "/", None, MS_REC | MS_PRIVATE)
    view = _View(libc)
    # Opened before anything is covered: a source may lie below a directory that is.
    opened = {mount: os.open(mount.source, os.O_PATH) for mount in mounts}
    ordered = sorted(mounts, key=lambda each: each.target.count("/"))
    inside = [each for each in ordered if any(Path(each.target).is_relative_to(way) for way in hidden)]
    if any(_nearest(mount.target) == "/" for mount in ordered):
        # First: a mount may hide the working directory, in which a new root is made.
        view.cover_root()
    for mount in ordered:
        if mount not in inside:
            view.mount(mount, opened[mount])
    # Not before: a new root is made in the working directory, which may lie below a hidden one.
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
    """A mount namespace in the making."""

    def __init__(self, libc: Libc) -> None:
        self._libc = libc
        self._covered: set[str] = set()
        """Directories in which anything may be made: they are this view's own."""
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
        target = self._ready(mount.target, is_directory=is_directory)
        self._libc.mount(f"/proc/self/fd/{source}", target, None, MS_BIND | MS_REC)
        if mount.read_only:
            kept = os.statvfs(target).f_flag & _KEPT
            self._libc.mount("none", target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)

    def finish(self) -> None:
        """Not before the last mount: a source must not lie in a root that is gone."""
        if self._root is not None:
            self._libc.drop_old_root(self._root)
            os.close(self._root)

    def _ready(self, target: str, *, is_directory: bool) -> str:
        """The path to mount at, made where it is missing; symbolic links are followed."""
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
            # Whatever our umask is: the container may run as another user.
            parent.chmod(_READABLE)
            self._covered.add(str(parent))
        if not is_directory:
            path.touch()
        return str(path)

    def _cover(self, directory: str) -> None:
        """Put a copy made of binds over a directory. The root cannot be covered: the copy becomes the new root."""
        place = str(Path.cwd()) if directory == "/" else directory
        original = os.open(directory, os.O_PATH | os.O_DIRECTORY)
        mode = stat.S_IMODE(os.fstat(original).st_mode)
        names = [each.name for each in Path(f"/proc/self/fd/{original}").iterdir()]
        self._libc.mount("tmpfs", place, "tmpfs", 0, f"mode={mode:o}")
        cover = os.open(place, os.O_PATH | os.O_DIRECTORY)
        for name in names:
            _bind(self._libc, f"/proc/self/fd/{original}/{name}", f"/proc/self/fd/{cover}/{name}")
        os.close(original)
        if directory == "/":
            # Not chroot: the kernel refuses user namespaces, and so every sandbox, to a process in a chroot.
            self._libc.pivot_root(cover)
            self._root = cover
        else:
            os.close(cover)


def _nearest(target: str) -> str:
    """The directory that is there and in which the path to a mount must be made; the path itself if it is there."""
    path = Path(os.path.realpath(target))
    return str(next(each for each in (path, *path.parents) if each.exists()))


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
        # An entry that vanished, or that may not be bound, is missing from the view.
        return
