"""What a command writes, shown on the runner's own streams and kept in `runner.log`. Losing a reader loses no more."""

import os
from contextlib import suppress

from jangar.runner.rooted_files import Refused, Root

MAX_SIZE = 16 * 1024 * 1024


class RunnerLog:
    """The log keeps the last 16 to 32 MiB: a full file makes room, and is `<name>.1` then."""

    def __init__(self, root: Root, path: str, *, largest: int = MAX_SIZE) -> None:
        self._root, self._path, self._largest = root, path, largest
        self._file: int | None = None
        self._size = 0
        self._gone: set[int] = set()
        self._open()

    def write(self, stream: int, data: bytes) -> None:
        """To standard output (0) or standard error (1), and to the file."""
        if not data:
            return
        if stream not in self._gone:
            try:
                _all(stream + 1, data)
            except OSError:
                # The reader went away; the command goes on.
                self._gone.add(stream)
        self._keep(data)

    def say(self, line: str) -> None:
        """A line of the runner's own."""
        self.write(1, f"jangar runner: {line}\n".encode("utf-8", "replace"))

    def _keep(self, data: bytes) -> None:
        if self._size and self._size + len(data) > self._largest:
            self._open()
        if self._file is not None:
            with suppress(OSError):
                _all(self._file, data)
                self._size += len(data)

    def _open(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file, self._size = None, 0
        with suppress(Refused, OSError):
            self._file = self._root.create(self._path)


def _all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
