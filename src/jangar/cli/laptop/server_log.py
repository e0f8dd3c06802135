"""The log of the local control plane: writes it to a file of limited size, reads its end, follows it."""

import io
import logging
import os
import sys
import time
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

MAX_SIZE: Final = 10 * 1024 * 1024
POLL_SECONDS: Final = 0.2


def log_to(path: Path, *, terminal_level: int | None) -> None:
    """Send the log of this process to the file, and records from `terminal_level` on to stderr as well."""
    from jangar.processes.lifecycle import configure_logs  # noqa: PLC0415 - heavy

    configure_logs()
    root = logging.getLogger()
    terminal = root.handlers[0]
    file = _PrivateFileHandler(path, maxBytes=MAX_SIZE, backupCount=1)
    file.setFormatter(terminal.formatter)
    root.handlers = [file]
    if terminal_level is not None:
        terminal.setLevel(terminal_level)
        root.handlers.append(terminal)


class _PrivateFileHandler(RotatingFileHandler):
    """Creates files that only their owner can read."""

    def _open(self) -> io.TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)


def tail(path: Path, lines: int) -> list[str]:
    """The last lines; empty if there is no file."""
    if not path.exists():
        return []
    return path.read_text(errors="replace").splitlines()[-lines:] if lines else []


def followed(path: Path) -> Iterator[str]:
    """Yields every new line, also after the file is rotated; never ends by itself."""
    file = path.open(errors="replace")
    file.seek(0, 2)
    part = ""
    while True:
        part += file.readline()
        if part.endswith("\n"):
            yield part[:-1]
            part = ""
        elif not part:
            sys.stdout.flush()
            time.sleep(POLL_SECONDS)
            if _is_replaced(path, file.fileno()):
                file.close()
                file = path.open(errors="replace")
        else:
            time.sleep(POLL_SECONDS)


def _is_replaced(path: Path, descriptor: int) -> bool:
    try:
        return not os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
