"""Log files in the CRI format: `2026-02-07T12:00:00.000000000Z stdout F text`, one file per container.

The API server reads `<directory>/<pod uid>/<container>.log`, and `<container>.previous.log` after a restart.
"""

import os
import time
from pathlib import Path

from kubekit.times import rfc3339_nanoseconds

MAX_LINE_LENGTH = 16 * 1024
MAX_FILE = 10 * 1024 * 1024
_STREAMS = (b"stdout", b"stderr")


def log_path(directory: Path, pod_uid: str, container: str, *, previous: bool = False) -> Path:
    """The path from which the API server reads the log of a container."""
    return directory / pod_uid / f"{container}{'.previous' if previous else ''}.log"


def previous_path(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.log')}.previous.log")


class LogFile:
    """Writes and rotates the log of a container.

    With a full disk, output is lost and the container keeps running. A line in the log reports the lost bytes.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_FILE) -> None:
        """Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            path.rename(previous_path(path))
        self._path = path
        self._max_bytes = max_bytes
        self._rest = [b"", b""]
        self.dropped = 0
        """Bytes of lost output that the log doesn't report yet."""
        self._file, self._size = self._open()

    def write(self, stream: int, data: bytes) -> None:
        """Write data from standard output (0) or standard error (1)."""
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        parts = [part for line in lines for part in _split_line(line)]
        while len(rest) > MAX_LINE_LENGTH:
            parts.append((b"P", rest[:MAX_LINE_LENGTH]))
            rest = rest[MAX_LINE_LENGTH:]
        self._rest[stream] = rest
        if parts:
            self._write_parts(stream, parts)

    def close(self) -> None:
        """Write incomplete lines as partial lines, and close the file."""
        for stream, rest in enumerate(self._rest):
            if rest:
                self._write_parts(stream, [(b"P", rest)])
        if self.dropped:
            self._write_parts(1, [])
        os.close(self._file)

    def _open(self) -> tuple[int, int]:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return file, os.fstat(file).st_size

    def _write_parts(self, stream: int, parts: list[tuple[bytes, bytes]]) -> None:
        prefix = _now() + b" " + _STREAMS[stream] + b" "
        data = b"".join(prefix + tag + b" " + text + b"\n" for tag, text in parts)
        if self.dropped:
            marker = b"%s stderr F [%d bytes of output lost: the log could not be written]\n"
            data = marker % (_now(), self.dropped) + data
        try:
            self._append(data)
        except OSError:
            self.dropped += sum(len(text) for _, text in parts)
        else:
            self.dropped = 0

    def _append(self, data: bytes) -> None:
        """Append all data or nothing, because the next line would continue a partial write."""
        if self._size and self._size + len(data) > self._max_bytes:
            self._rotate()
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)

    def _rotate(self) -> None:
        """Start a new file. If that fails, continue with the old one."""
        old = self._path.with_suffix(".log.1")
        self._path.rename(old)
        try:
            new = self._open()
        except OSError:
            old.rename(self._path)
            return
        os.close(self._file)
        self._file, self._size = new


def _split_line(line: bytes) -> list[tuple[bytes, bytes]]:
    """Partial lines tagged P, and the last one tagged F."""
    starts = range(0, max(len(line), 1), MAX_LINE_LENGTH)
    return [
        (b"F" if start + MAX_LINE_LENGTH >= len(line) else b"P", line[start : start + MAX_LINE_LENGTH])
        for start in starts
    ]


def _now() -> bytes:
    return rfc3339_nanoseconds(time.time_ns()).encode()
