"""Configures logging to stderr, one line per record: `time level logger: message key=value ...`."""

import logging
import sys
from typing import TextIO

from kubekit.times import from_epoch, rfc3339_milliseconds

_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""Attributes of every record; all others come from `extra`."""


class LineFormatter(logging.Formatter):
    """Appends extra fields as key=value; values with spaces or quotes are quoted."""

    def format(self, record: logging.LogRecord) -> str:
        timestamp = rfc3339_milliseconds(from_epoch(record.created))
        fields = [
            f"{name}={_quoted(value)}"
            for name, value in record.__dict__.items()
            if name not in _STANDARD_FIELDS
        ]
        head = f"{timestamp} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        line = " ".join([head.replace("\n", "\\n"), *fields])
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def configure_logs(stream: TextIO | None = None, *, level: int = logging.INFO) -> None:
    """Send the log of this process to the stream, by default stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # The process itself reports where it serves.
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING))


def _quoted(value: object) -> str:
    text = str(value)
    plain = text and not any(item in text for item in ' "=\n\t')
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
