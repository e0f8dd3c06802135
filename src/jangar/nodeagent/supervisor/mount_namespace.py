"""A private view of the file system for one process: volumes stand at their paths, the rest is as it was.

Runs between fork and exec. Where a path does not exist, its nearest directory is covered by a copy made of binds, in
which it can be made: nothing is ever created on the machine itself.
"""

import ctypes
import os
import stat
from contextlib import suppress
from pathlib import Path

from jangar.nodeagent.supervisor.orders import Mount

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
_KEPT = 2 | 4 | 8 | 1024 | 2048 | (1 << 21)
"""nosuid, nodev, noexec, noatime, nodiratime, relatime: a remount must not take them away."""
_OWN_USER = 0o700
_ENTERABLE, _READABLE = 0o711, 0o755


class _Libc:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def unshare(self, flags: int) -> None:
        self._check(self._libc.unshare(flags), "unshare")

    def mount(self, source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
        answer = self._libc.mount(
            source.encode(),
            target.encode(),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            data.encode() if data else None,
        )
        self._check(answer, target)

    def _check(self, answer: int, what: str) -> None:
        if answer != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), what)


LIBC: _Libc | None = None


def load() -> None:
    """Before the first fork: what a child needs is there then."""
    global LIBC  # noqa: PLW0603 - a library is loaded once a process
    with suppress(OSError, AttributeError):
        LIBC = _Libc()


def enter(mounts: tuple[Mount, ...], hidden: tuple[str, ...] = ()) -> None:
    """Give the calling process its own view; `hidden` directories are empty in it but for what is mounted there."""
    if LIBC is None:
        raise OSError(38, "no mount namespaces on this system")
    _unshare(LIBC)
    LIBC.mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    covered: set[str] = set()
    # Opened before anything is covered: a source may lie below a directory that is.
    opened = {mount: os.open(mount.source, os.O_PATH) for mount in mounts}
    ordered = sorted(mounts, key=lambda each: each.target.count("/"))
    inside = [each for each in ordered if any(Path(each.target).is_relative_to(way) for way in hidden)]
    for mount in ordered:
        if mount not in inside:
            _mount(LIBC, mount, opened[mount], covered)
    # Not before: a new root is made in the working directory, which may lie below a hidden one.
    for directory in hidden:
        LIBC.mount("tmpfs", directory, "tmpfs", 0, f"mode={_ENTERABLE:o}")
        covered.add(directory)
    for mount in inside:
        _mount(LIBC, mount, opened[mount], covered)
    for source in opened.values():
        os.close(source)


def works() -> bool:
    """Whether this system lets us: tried once, in a child."""
    if LIBC is None:
        return False
    pid = os.fork()
    if pid == 0:
        code = 1
        with suppress(BaseException):
            enter((Mount(source="/proc/self", target="/jangar-probe/deep"),))
            code = 0
        os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def _unshare(libc: _Libc) -> None:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        libc.unshare(_CLONE_NEWNS)
        return
    libc.unshare(_CLONE_NEWNS | _CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def _mount(libc: _Libc, mount: Mount, source: int, covered: set[str]) -> None:
    is_directory = stat.S_ISDIR(os.fstat(source).st_mode)
    target = _ready(libc, mount.target, covered, is_directory=is_directory)
    libc.mount(f"/proc/self/fd/{source}", target, None, _MS_BIND | _MS_REC)
    if mount.read_only:
        kept = os.statvfs(target).f_flag & _KEPT
        libc.mount("none", target, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)


def _ready(libc: _Libc, target: str, covered: set[str], *, is_directory: bool) -> str:
    """The path to mount at, made where it is missing; symbolic links are followed."""
    path = Path(os.path.realpath(target))
    if path.exists():
        return str(path)
    missing = [parent for parent in path.parents if not parent.is_dir()]
    existing = str(missing[-1].parent if missing else path.parent)
    if existing not in covered:
        _cover(libc, existing)
        covered.add(existing)
    if is_directory:
        missing.insert(0, path)
    for parent in reversed(missing):
        parent.mkdir()
        # Whatever our umask is: the container may run as another user.
        parent.chmod(_READABLE)
        covered.add(str(parent))
    if not is_directory:
        path.touch()
    return str(path)


def _cover(libc: _Libc, directory: str) -> None:
    """Put a copy made of binds over a directory. The root cannot be covered: the copy becomes the new root."""
    place = str(Path.cwd()) if directory == "/" else directory
    original = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    mode = stat.S_IMODE(os.fstat(original).st_mode)
    names = [each.name for each in Path(f"/proc/self/fd/{original}").iterdir()]
    libc.mount("tmpfs", place, "tmpfs", 0, f"mode={mode:o}")
    cover = os.open(place, os.O_PATH | os.O_DIRECTORY)
    for name in names:
        _bind(libc, f"/proc/self/fd/{original}/{name}", f"/proc/self/fd/{cover}/{name}")
    if directory == "/":
        os.chroot(f"/proc/self/fd/{cover}")
        os.chdir("/")
    os.close(cover)
    os.close(original)


def _bind(libc: _Libc, source: str, target: str) -> None:
    try:
        mode = Path(source).lstat().st_mode
        if stat.S_ISLNK(mode):
            Path(target).symlink_to(Path(source).readlink())
            return
        if stat.S_ISDIR(mode):
            Path(target).mkdir(_OWN_USER)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        libc.mount(source, target, None, _MS_BIND | _MS_REC)
    except OSError:
        # An entry that vanished, or that may not be bound, is missing from the view.
        return
