"""Access to files below one directory. No path leads out of it, neither by `..` nor by a symbolic link.

Directories are opened one by one without following links, so a link that is created meanwhile changes nothing.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WORKSPACE = "/workspace"
"""The path of the root in documents, wherever it is on this machine."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """A file below the root cannot be written or read; the message says why."""


class Root:
    """A directory and the files below it."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._is_workspace = str(self.path) == WORKSPACE

    def parts(self, given: str) -> tuple[str, ...]:
        """The parts of a path relative to the root; an absolute path must be below the root. Raises Refused."""
        relative = given
        for prefix in (WORKSPACE, str(self.path)):
            if given == prefix or given.startswith(prefix.rstrip("/") + "/"):
                relative = given[len(prefix) :].lstrip("/")
                break
        else:
            if given.startswith("/"):
                raise Refused(f"{given}: is not below {WORKSPACE}")
        parts = tuple(part for part in relative.split("/") if part not in ("", "."))
        if ".." in parts or "\0" in given:
            raise Refused(f"{given}: leads out of {WORKSPACE}")
        if not parts:
            raise Refused(f"{given!r}: names no file below {WORKSPACE}")
        return parts

    def path_of(self, given: str) -> Path:
        """The path on this machine. Raises Refused."""
        return self.path.joinpath(*self.parts(given))

    def localize(self, word: str) -> str:
        """A word that is a path below `/workspace` as the path on this machine; any other word unchanged."""
        if self._is_workspace or not word.startswith(WORKSPACE) or any(item.isspace() for item in word):
            return word
        rest = word.removeprefix(WORKSPACE)
        return f"{self.path}{rest}" if rest == "" or rest.startswith("/") else word

    def write(self, given: str, content: bytes, mode: int = 0o644) -> None:
        """Replace the file atomically and create its directories; a file with this content is left alone.

        Raises Refused.
        """
        with self._directory(given, make=True) as (directory, name):
            if _has_content(directory, name, content):
                return
            temporary = f".jangar-{os.getpid()}.tmp"
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=directory)
            file = os.open(temporary, _NEW, mode, dir_fd=directory)
            try:
                with os.fdopen(file, "wb") as out:
                    out.write(content)
                os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=directory)
                raise

    def create(self, given: str) -> int:
        """A descriptor of a new, empty file to append to; an existing file is renamed to `<name>.1`. Raises Refused."""
        with self._directory(given, make=True) as (directory, name):
            with suppress(FileNotFoundError):
                os.replace(name, f"{name}.1", src_dir_fd=directory, dst_dir_fd=directory)
            return os.open(name, _NEW | os.O_APPEND, 0o644, dir_fd=directory)

    @contextmanager
    def reading(self, given: str) -> Iterator[int]:
        """A descriptor of a regular file while the block runs. Raises Refused, FileNotFoundError."""
        with self._directory(given, make=False) as (directory, name):
            file = os.open(name, _READ, dir_fd=directory)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise Refused(f"{given}: is not a regular file")
            yield file
        finally:
            os.close(file)

    def remove(self, given: str) -> None:
        """Delete the file if it exists. Raises Refused."""
        with suppress(FileNotFoundError), self._directory(given, make=False) as (directory, name):
            os.unlink(name, dir_fd=directory)

    @contextmanager
    def _directory(self, given: str, *, make: bool) -> Iterator[tuple[int, str]]:
        """A descriptor of the file's directory, which renames cannot redirect, and the file's name."""
        *above, name = self.parts(given)
        directory = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=directory)
                inner = os.open(part, _DIRECTORY, dir_fd=directory)
                os.close(directory)
                directory = inner
            yield directory, name
        except FileNotFoundError:
            raise
        except OSError as error:
            reasons = {
                errno.ELOOP: "a symbolic link is in the way",
                errno.ENOTDIR: "a symbolic link or a file is in the way",
                errno.EBUSY: "is mounted with other content",
            }
            raise Refused(f"{given}: {reasons.get(error.errno or 0, error.strerror)}") from error
        finally:
            os.close(directory)


def _has_content(directory: int, name: str, content: bytes) -> bool:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{name}: exists and is not a regular file")
    if status.st_size != len(content):
        return False
    with os.fdopen(os.open(name, _READ, dir_fd=directory), "rb") as file:
        return file.read(len(content) + 1) == content
