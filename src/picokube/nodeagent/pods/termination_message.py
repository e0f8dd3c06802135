"""Reads the termination message of a container from its file, or from the end of its log."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from picokube.nodeagent.pods.container_request import container_named
from picokube.nodeagent.pods.volume_files import AgentPaths
from picokube.nodeagent.supervisor.cri_log import log_path, previous_path
from picokube.nodeagent.supervisor.protocol import Run

MAX_MESSAGE_LENGTH = 4096
MAX_LOG = 2048
MAX_LOG_LINES = 80
_HEADER_FIELDS = 3


def termination_message(pod: Mapping[str, Any], run: Run, paths: AgentPaths, *, is_latest: bool) -> str:
    key = run.key
    message = _read_tail(paths.termination(key.pod, key.container, key.restart), MAX_MESSAGE_LENGTH)
    if message:
        return message.decode(errors="replace")
    policy = container_named(pod, key.container).get("terminationMessagePolicy")
    if policy != "FallbackToLogsOnError" or run.code == 0:
        return ""
    path = log_path(paths.logs, key.pod, key.container)
    lines = _read_tail(path if is_latest else previous_path(path), 2 * MAX_LOG).split(b"\n")[
        -MAX_LOG_LINES - 1 :
    ]
    return b"\n".join(_text(line) for line in lines)[-MAX_LOG:].decode(errors="replace")


def _text(line: bytes) -> bytes:
    """The line without timestamp, stream and tag."""
    parts = line.split(b" ", _HEADER_FIELDS)
    return parts[_HEADER_FIELDS] if len(parts) > _HEADER_FIELDS else b""


def _read_tail(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - max_bytes, 0))
            return file.read(max_bytes)
    except OSError:
        return b""
