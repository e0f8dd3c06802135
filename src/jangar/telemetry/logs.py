"""The log of a process on stderr: one line an entry, `time level logger: message key=value ...`."""

import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

_OWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""What every record has; anything else was given as `extra`."""


class LineFormatter(logging.Formatter):
    """Extras are told as key=value; values with spaces or quotes are quoted."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        given = [f"{name}={_quoted(value)}" for name, value in record.__dict__.items() if name not in _OWN]
        head = (
            f"{moment.replace('+00:00', 'Z')} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        )
        line = " ".join([head.replace("\n", "\\n"), *given])
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def configure_logs(stream: TextIO | None = None, *, level: int = logging.INFO) -> None:
    """Send everything of this process there."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # What the web server says of itself is no news; the process tells where it serves.
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING))


def _quoted(value: object) -> str:
    text = str(value)
    plain = text and not any(each in text for each in ' "=\n\t')
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
