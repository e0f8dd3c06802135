"""Where the logs of containers are, and how their lines read: one file a container, one timestamped line an entry.

The files have the form that container runtimes write: `2026-02-07T12:00:00.000000000Z stdout F text`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from os import SEEK_END
from pathlib import Path

CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Which part of a log, and in which form."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None


def log_path(directory: Path, pod_uid: str, container: str, *, previous: bool = False) -> Path:
    """The log of a container of a pod; the one before its last restart with `previous`."""
    return directory / pod_uid / f"{container}{'.previous' if previous else ''}.log"


class LogReader:
    """Reads a growing log from where it was read last."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self._path = path
        self._options = options
        self._place = 0
        self._rest = b""
        self._left = options.limit_bytes
        self._is_first = True

    @property
    def is_spent(self) -> bool:
        """The limit of bytes is reached."""
        return self._left is not None and self._left <= 0

    def read(self) -> bytes:
        """What was written since the last call, whole lines only."""
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            if file.seek(0, SEEK_END) < self._place:
                # Another file has taken its place: rotated.
                self._place, self._rest = 0, b""
            file.seek(self._place)
            data = self._rest + file.read()
            self._place = file.tell()
        lines = data.split(b"\n")
        self._rest = lines.pop()
        if self._is_first and self._options.tail_lines is not None:
            lines = lines[-self._options.tail_lines :] if self._options.tail_lines else []
        self._is_first = False
        return self._limited(b"".join(self._shown(lines)))

    def _shown(self, lines: list[bytes]) -> Iterator[bytes]:
        for line in lines:
            time, _, entry = line.partition(b" ")
            _, _, tagged = entry.partition(b" ")
            tag, _, text = tagged.partition(b" ")
            if self._options.since is not None and not _is_since(time, self._options.since):
                continue
            prefix = time + b" " if self._options.timestamps else b""
            yield prefix + text + (b"" if tag == b"P" else b"\n")

    def _limited(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        shown = data[: max(self._left, 0)]
        self._left -= len(shown)
        return shown


def _moment(text: str) -> datetime:
    """Nanoseconds are more than a datetime holds."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}Z")


def _is_since(time: bytes, since: datetime) -> bool:
    try:
        return _moment(time.decode()) >= since
    except ValueError:
        return True
