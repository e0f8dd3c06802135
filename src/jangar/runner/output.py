"""The output of a command: redacted, split into lines, shown on the runner's own streams and kept in `runner.log`."""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress

import orjson

from jangar.runner.rooted_files import Refused, Root
from kubekit.redaction import MASK, Redactor

MAX_LINE_LENGTH = 64 * 1024
MAX_LOG_SIZE = 16 * 1024 * 1024
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)


class Mask:
    """Replaces secret values by `***`, in every encoding that the redactor knows."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._redactor = Redactor(_bytes(secret.strip()) for secret in secrets)
        self.longest = self._redactor.longest
        """Bytes of the longest value."""

    def data(self, data: bytes) -> bytes:
        return self._redactor.redact(data)

    def text(self, text: str) -> str:
        """The text redacted; bytes that are not UTF-8, as in file names, are replaced."""
        return self.data(_bytes(text)).decode("utf-8", "replace")

    def json(self, text: str) -> str:
        """JSON redacted token by token, which keeps it JSON and its layout as written."""
        return _TOKEN.sub(self._token, text) if self.longest else text

    def _token(self, match: re.Match[str]) -> str:
        token = match.group()
        if not token.startswith('"'):
            return f'"{MASK.decode()}"' if self.text(token) != token else token
        try:
            value = str(orjson.loads(token))
        except orjson.JSONDecodeError:
            return self.text(token)
        masked = self.text(value)
        return token if masked == value else orjson.dumps(masked).decode()


class Lines:
    """Turns the bytes of a pipe into whole, redacted lines; a line over 64 KiB becomes several."""

    def __init__(self, mask: Mask, on_line: Callable[[bytes | None], None] | None = None) -> None:
        """`on_line` gets each line as it was written, and None for one over 64 KiB."""
        self._mask, self._on_line = mask, on_line
        self._rest = b""
        self._is_cut = False
        """Whether pieces of the unfinished line were returned already."""

    def take(self, data: bytes) -> bytes:
        """What may be shown now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        shown = b"".join(map(self._whole, lines))
        # A secret that has begun and not ended is within the last bytes: those stay here.
        while len(self._rest) >= MAX_LINE_LENGTH + self._mask.longest:
            self._rest = self._mask.data(self._rest)
            if len(self._rest) < MAX_LINE_LENGTH + self._mask.longest:
                break
            shown += self._rest[:MAX_LINE_LENGTH] + b"\n"
            self._rest, self._is_cut = self._rest[MAX_LINE_LENGTH:], True
        return shown

    def end(self) -> bytes:
        """The unfinished line, when no more data comes."""
        rest, self._rest = self._rest, b""
        return self._whole(rest) if rest else b""

    def _whole(self, line: bytes) -> bytes:
        if self._on_line is not None:
            self._on_line(line if not self._is_cut and len(line) <= MAX_LINE_LENGTH else None)
        self._is_cut = False
        masked = self._mask.data(line)
        starts = range(0, max(len(masked), 1), MAX_LINE_LENGTH)
        return b"".join(masked[at : at + MAX_LINE_LENGTH] + b"\n" for at in starts)


class RunnerLog:
    """Shows output and keeps the last 16 to 32 MiB: a full file is renamed to `<name>.1`.

    If the reader of a stream goes away, the output is still written to the file.
    """

    def __init__(self, root: Root, path: str, *, max_size: int = MAX_LOG_SIZE) -> None:
        self._root, self._path, self._max_size = root, path, max_size
        self._file: int | None = None
        self._size = 0
        self._closed_streams: set[int] = set()
        self._open()

    def write(self, stream: int, data: bytes) -> None:
        """Write to standard output (0) or standard error (1), and to the file."""
        if not data:
            return
        if stream not in self._closed_streams:
            try:
                _write_all(stream + 1, data)
            except OSError:
                self._closed_streams.add(stream)
        if self._size and self._size + len(data) > self._max_size:
            self._open()
        if self._file is not None:
            with suppress(OSError):
                _write_all(self._file, data)
                self._size += len(data)

    def write_message(self, message: str) -> None:
        """A message of the runner itself."""
        self.write(1, f"jangar runner: {message}\n".encode("utf-8", "replace"))

    def _open(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._size = None, 0
        with suppress(Refused, OSError):
            self._file = self._root.create(self._path)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
