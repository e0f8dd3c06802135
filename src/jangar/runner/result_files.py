"""Reads the files that a command leaves below the root: its artifacts, and the control file of its loop."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from jangar.runner.output import Mask
from jangar.runner.rooted_files import Refused, Root
from jangar.runner.spec import OutputArtifact

MAX_HASHED = 1 << 30
"""Bytes that are read for checksums in one run, which bounds the time that its end takes."""
MAX_CONTROL_LENGTH = 2048
"""Bytes of the control file: it shares the termination message with the outputs."""
MISSING = "missing"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedArtifact:
    """An artifact with the size and sha256 of its file; `problem` says why there is no file."""

    artifact: OutputArtifact
    size: int | None = None
    sha256: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopControl:
    """The members of the JSON object in the control file, or why there are none."""

    members: Mapping[str, Any] | None = None
    problem: str | None = None


def collect_artifacts(
    root: Root, artifacts: Iterable[OutputArtifact], *, max_hashed: int = MAX_HASHED
) -> list[CollectedArtifact]:
    """The artifacts in the given order; one without a path is returned as it is."""
    collected, hashable = [], max_hashed
    for artifact in artifacts:
        one = _collect(root, artifact, hashable)
        hashable -= one.size or 0 if one.sha256 else 0
        collected.append(one)
    return collected


def _collect(root: Root, artifact: OutputArtifact, hashable: int) -> CollectedArtifact:
    if artifact.path is None:
        return CollectedArtifact(artifact=artifact)
    try:
        with root.reading(artifact.path) as file:
            size = os.fstat(file).st_size
            sha256 = _sha256(file, size) if size <= hashable else None
            return CollectedArtifact(artifact=artifact, size=size, sha256=sha256)
    except FileNotFoundError:
        return CollectedArtifact(artifact=artifact, problem="there is no such file")
    except Refused as error:
        return CollectedArtifact(artifact=artifact, problem=str(error))
    except OSError as error:
        return CollectedArtifact(artifact=artifact, problem=error.strerror)


def _sha256(file: int, size: int) -> str:
    """The checksum of the first `size` bytes: a file that grows is not followed."""
    digest, left = hashlib.sha256(), size
    while left and (data := os.read(file, min(_CHUNK, left))):
        digest.update(data)
        left -= len(data)
    return digest.hexdigest()


def read_control(root: Root, path: str, mask: Mask) -> LoopControl:
    """What the command wrote for the condition of its loop, with secrets redacted."""
    try:
        with root.reading(path) as file:
            content = os.read(file, MAX_CONTROL_LENGTH + 1)
    except FileNotFoundError:
        return LoopControl(problem=MISSING)
    except (Refused, OSError) as error:
        return LoopControl(problem=mask.text(str(error)))
    if len(content) > MAX_CONTROL_LENGTH:
        return LoopControl(problem=f"has more than {MAX_CONTROL_LENGTH} bytes")
    try:
        members = orjson.loads(mask.json(content.decode()))
    except (UnicodeDecodeError, orjson.JSONDecodeError):
        return LoopControl(problem="is not JSON")
    if not isinstance(members, dict):
        return LoopControl(problem="is not a JSON object")
    return LoopControl(members=members)
