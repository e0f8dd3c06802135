"""Log files as container runtimes write them: `2026-02-07T12:00:00.000000000Z stdout F text`, one file a container.

The API server reads `<directory>/<pod uid>/<container>.log`, and `<container>.previous.log` after a restart.
"""

import os
import time
from pathlib import Path

LONGEST_LINE = 16 * 1024
LARGEST_FILE = 10 * 1024 * 1024
_STREAMS = (b"stdout", b"stderr")


def log_path(directory: Path, pod_uid: str, container: str, *, previous: bool = False) -> Path:
    """Where the API server looks for the log of a container."""
    return directory / pod_uid / f"{container}{'.previous' if previous else ''}.log"


def previous_path(path: Path) -> Path:
    return path.with_name(f"{path.name.removesuffix('.log')}.previous.log")


class LogFile:
    """Takes what a container writes; a file that grows too large makes room for a new one."""

    def __init__(self, path: Path, *, largest: int = LARGEST_FILE) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            path.rename(previous_path(path))
        self._path = path
        self._largest = largest
        self._rest = [b"", b""]
        self.dropped = 0
        """Bytes of output that could not be written."""
        self._open()

    def take(self, stream: int, data: bytes) -> None:
        """Bytes from standard output (0) or standard error (1)."""
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        parts = [piece for line in lines for piece in _pieces(line, b"F")]
        while len(rest) > LONGEST_LINE:
            parts.append((b"P", rest[:LONGEST_LINE]))
            rest = rest[LONGEST_LINE:]
        self._rest[stream] = rest
        if parts:
            self._write(stream, parts)

    def close(self) -> None:
        """What was no whole line is written as it stands, without an end of line."""
        for stream, rest in enumerate(self._rest):
            if rest:
                self._write(stream, [(b"P", rest)])
        os.close(self._file)

    def _open(self) -> None:
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size

    def _write(self, stream: int, parts: list[tuple[bytes, bytes]]) -> None:
        try:
            self._append(stream, parts)
        except OSError:
            # A full disk costs output, not the container.
            self.dropped += sum(len(text) for _, text in parts)

    def _append(self, stream: int, parts: list[tuple[bytes, bytes]]) -> None:
        head = _now() + b" " + _STREAMS[stream] + b" "
        data = b"".join(head + tag + b" " + text + b"\n" for tag, text in parts)
        if self._size and self._size + len(data) > self._largest:
            os.close(self._file)
            self._path.rename(self._path.with_suffix(".log.1"))
            self._open()
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]
        self._size += len(data)


def _pieces(line: bytes, last: bytes) -> list[tuple[bytes, bytes]]:
    cuts = range(0, max(len(line), 1), LONGEST_LINE)
    return [
        (last if start + LONGEST_LINE >= len(line) else b"P", line[start : start + LONGEST_LINE])
        for start in cuts
    ]


def _now() -> bytes:
    seconds, rest = divmod(time.time_ns(), 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % rest
