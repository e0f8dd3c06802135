"""Configures logging to stderr: one line of text per record, or one JSON object.

Text: `time level logger: event key=value ...`. JSON: the same as the keys time, level, logger, event and the fields.
"""

import json
import logging
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

from kubekit.times import from_epoch, rfc3339_milliseconds

_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
"""Attributes of every record; all others come from `extra`."""


class TextFormatter(logging.Formatter):
    """Appends extra fields as key=value; values with spaces or quotes are quoted."""

    def format(self, record: logging.LogRecord) -> str:
        head = f"{_timestamp(record)} {record.levelname.lower()} {record.name}: {record.getMessage()}"
        fields = [f"{name}={_quoted(value)}" for name, value in _extra_fields(record).items()]
        line = " ".join([head.replace("\n", "\\n"), *fields])
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


class JsonFormatter(logging.Formatter):
    """One JSON object per record; a traceback is its field `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        document = {
            **_extra_fields(record),
            "time": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document, default=str)


FORMATTERS: Final[Mapping[str, type[logging.Formatter]]] = {"text": TextFormatter, "json": JsonFormatter}
"""By value of JANGAR_LOG_FORMAT."""


def configure_logs(stream: TextIO | None = None, *, level: int = logging.INFO, form: str = "text") -> None:
    """Send the log of this process to the stream, by default stderr."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATTERS[form]())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    # The process itself reports where it serves.
    logging.getLogger("uvicorn").setLevel(max(level, logging.WARNING))


def _timestamp(record: logging.LogRecord) -> str:
    return rfc3339_milliseconds(from_epoch(record.created))


def _extra_fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD_FIELDS}


def _quoted(value: object) -> str:
    text = str(value)
    plain = text and not any(item in text for item in ' "=\n\t')
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
