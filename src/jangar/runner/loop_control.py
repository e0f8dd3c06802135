"""What a command wrote for the condition of its loop: a JSON object in a file, to be told with its end."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from jangar.runner.masking import Mask
from jangar.runner.rooted_files import Refused, Root

MAX_LENGTH = 2048
"""Bytes: outputs travel in the same message."""
MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopControl:
    """The members, or why there are none."""

    members: Mapping[str, Any] | None = None
    problem: str | None = None


def read_control(root: Root, path: str, mask: Mask) -> LoopControl:
    """Secrets are masked in it as in everything that is told."""
    try:
        file = root.open(path)
    except FileNotFoundError:
        return LoopControl(problem=MISSING)
    except (Refused, OSError) as error:
        return LoopControl(problem=mask.text(str(error)))
    try:
        content = os.read(file, MAX_LENGTH + 1)
    except OSError as error:
        return LoopControl(problem=error.strerror)
    finally:
        os.close(file)
    if len(content) > MAX_LENGTH:
        return LoopControl(problem=f"has more than {MAX_LENGTH} bytes")
    try:
        read = orjson.loads(mask.json(content.decode()))
    except (UnicodeDecodeError, orjson.JSONDecodeError):
        return LoopControl(problem="is not JSON")
    if not isinstance(read, dict):
        return LoopControl(problem="is not a JSON object")
    return LoopControl(members=read)
