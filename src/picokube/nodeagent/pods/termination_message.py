"""What a container left as its last words: its termination message, or the end of its log. Reads files."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from picokube.nodeagent.pods.container_request import container_named
from picokube.nodeagent.pods.volume_files import Places
from picokube.nodeagent.supervisor.cri_log import log_path, previous_path
from picokube.nodeagent.supervisor.orders import Run

LONGEST_MESSAGE = 4096
LONGEST_LOG = 2048
MOST_LOG_LINES = 80
_HEADER = 3


def last_words(pod: Mapping[str, Any], run: Run, places: Places, *, is_latest: bool) -> str:
    key = run.key
    said = _end_of(places.termination(key.pod, key.container, key.restart), LONGEST_MESSAGE)
    if said:
        return said.decode(errors="replace")
    policy = container_named(pod, key.container).get("terminationMessagePolicy")
    if policy != "FallbackToLogsOnError" or run.code == 0:
        return ""
    path = log_path(places.logs, key.pod, key.container)
    lines = _end_of(path if is_latest else previous_path(path), 2 * LONGEST_LOG).split(b"\n")[
        -MOST_LOG_LINES - 1 :
    ]
    return b"\n".join(_text(line) for line in lines)[-LONGEST_LOG:].decode(errors="replace")


def _text(line: bytes) -> bytes:
    """Without the time, the stream and the mark."""
    parts = line.split(b" ", _HEADER)
    return parts[_HEADER] if len(parts) > _HEADER else b""


def _end_of(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - most, 0))
            return file.read(most)
    except OSError:
        return b""
