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
    """Takes what a container writes; a file that grows too large makes room for a new one.

    A full disk costs lines of output, never the container. Where lines are missing, a line says how many bytes.
    """

    def __init__(self, path: Path, *, largest: int = LARGEST_FILE) -> None:
        """Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            path.rename(previous_path(path))
        self._path = path
        self._largest = largest
        self._rest = [b"", b""]
        self.dropped = 0
        """Bytes of output that could not be written and that no line tells of yet."""
        self._file, self._size = self._opened()

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
        if self.dropped:
            self._write(1, [])
        os.close(self._file)

    def _opened(self) -> tuple[int, int]:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return file, os.fstat(file).st_size

    def _write(self, stream: int, parts: list[tuple[bytes, bytes]]) -> None:
        head = _now() + b" " + _STREAMS[stream] + b" "
        data = b"".join(head + tag + b" " + text + b"\n" for tag, text in parts)
        if self.dropped:
            marker = b"%s stderr F [%d bytes of output are missing: the log could not be written]\n"
            data = marker % (_now(), self.dropped) + data
        try:
            self._append(data)
        except OSError:
            self.dropped += sum(len(text) for _, text in parts)
        else:
            self.dropped = 0

    def _append(self, data: bytes) -> None:
        """All of it or nothing: half a line would run into the next one."""
        if self._size and self._size + len(data) > self._largest:
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
        """Without room for a new file the old one goes on."""
        old = self._path.with_suffix(".log.1")
        self._path.rename(old)
        try:
            new = self._opened()
        except OSError:
            old.rename(self._path)
            return
        os.close(self._file)
        self._file, self._size = new


def _pieces(line: bytes, last: bytes) -> list[tuple[bytes, bytes]]:
    cuts = range(0, max(len(line), 1), LONGEST_LINE)
    return [
        (last if start + LONGEST_LINE >= len(line) else b"P", line[start : start + LONGEST_LINE])
        for start in cuts
    ]


def _now() -> bytes:
    seconds, rest = divmod(time.time_ns(), 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode() + b".%09dZ" % rest
