"""The files that the ends of logs are kept in: one for work that is one Job, one for each Job of work that is several.

`<directory>/<namespace>/<uid of the child>.log`, else `<directory>/<namespace>/<uid>/<number>-<Job>.log`, numbered in
the order in which they were kept. A file is there whole or not at all, and its being there says that it is kept.
"""

import contextlib
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

RUN_BYTES: Final = 1024 * 1024
"""What is kept of one child: the oldest go first."""
BLOCK: Final = 4096
"""What the smallest file takes on a disk, and so counts as."""
NO_SPACE: Final = b"(no log: no space left on device)\n"
DROPPED: Final = b"(the logs of the first "


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    """The end of the log of one of several Jobs."""

    number: int
    job: str
    path: Path


@dataclass(frozen=True, slots=True)
class KeptLogs:
    """Of all children. Every method may wait for the disk."""

    directory: Path

    def path(self, namespace: str, uid: str) -> Path:
        return self.directory / namespace / f"{uid}.log"

    def has(self, namespace: str, uid: str, job: str | None = None) -> bool:
        """Whether the log of this Job is kept; of work that is one Job, whichever."""
        return self.path(namespace, uid).exists() or any(
            part.job == job for part in self._parts(namespace, uid)
        )

    def has_any(self, namespace: str, uid: str) -> bool:
        return self.path(namespace, uid).exists() or bool(self._parts(namespace, uid))

    def keep(self, namespace: str, uid: str, content: bytes) -> None:
        """The log of work that is one Job."""
        _write(self.path(namespace, uid), content)

    def keep_one(self, namespace: str, uid: str, *, job: str, title: str, content: bytes) -> None:
        """The log of one of several Jobs, under its title. Once is enough: it is not kept twice."""
        parts = self._parts(namespace, uid)
        if any(part.job == job for part in parts):
            return
        number = parts[-1].number + 1 if parts else 1
        path = self.directory / namespace / uid / f"{number:06d}-{job}.log"
        _write(path, f"==> {title} <==\n".encode() + content)
        self._drop(parts, RUN_BYTES - _counted(path))

    def read(self, namespace: str, uid: str, *, but: str | None = None) -> bytes | None:
        """All that is kept, the oldest first; None if that is nothing. With `but`, of Jobs other than that one."""
        parts = self._parts(namespace, uid)
        paths = [part.path for part in parts if part.job != but]
        paths += [self.path(namespace, uid)] if but is None else []
        texts = [text for path in paths if (text := _read(path)) is not None]
        if not texts:
            return None
        whole = b"".join(map(_ended, texts)) if parts else texts[0]
        dropped = parts[0].number - 1 if parts else 0
        reported = b"%s%d Jobs are not kept any more: of one run the newest 1 MiB is)\n" % (DROPPED, dropped)
        return reported + whole if dropped else whole

    def parts(self, namespace: str, uid: str) -> list[tuple[str, bytes]]:
        """Of work of several Jobs, each Job and its log under its title; the oldest first."""
        read = [(part.job, _read(part.path)) for part in self._parts(namespace, uid)]
        return [(job, _ended(text)) for job, text in read if text is not None]

    def delete_older(self, moment: datetime) -> None:
        """Delete what was kept before."""
        for path in (*self.directory.glob("*/*.log"), *self.directory.glob("*/*/*.log")):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < moment.timestamp():
                    path.unlink()
        for path in self.directory.glob("*/*/"):
            # One that has something in it stays.
            with contextlib.suppress(OSError):
                path.rmdir()

    def _parts(self, namespace: str, uid: str) -> list[_Part]:
        try:
            names = [path.name for path in (self.directory / namespace / uid).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = []
        for name in names:
            number, _, job = name.removesuffix(".log").partition("-")
            if name.endswith(".log") and number.isdecimal() and job:
                found.append(_Part(int(number), job, self.directory / namespace / uid / name))
        return sorted(found)

    def _drop(self, parts: Sequence[_Part], room: int) -> None:
        """The oldest that do not fit."""
        for part in reversed(parts):
            room -= _counted(part.path)
            if room < 0:
                with contextlib.suppress(FileNotFoundError):
                    part.path.unlink()


def _counted(path: Path) -> int:
    try:
        return max(path.stat().st_size, BLOCK)
    except FileNotFoundError:
        return 0


def _read(path: Path) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def _ended(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"


def _write(path: Path, content: bytes) -> None:
    """On a disk without room for the log, a line that says so: what became of the work does not wait for its log."""
    try:
        _replace(path, content)
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        _replace(path, NO_SPACE)


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(".part")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    temporary.replace(path)
