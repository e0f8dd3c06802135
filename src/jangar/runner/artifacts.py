"""What a command left behind: size and sha256 of each file that was asked for. Reads files below the root only."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass

from jangar.runner.rooted_files import Refused, Root
from jangar.runner.spec import OutputArtifact

MAX_HASHED = 1 << 30
"""Bytes that are read for checksums in one run: the end of a run does not wait for a disk."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """An artifact as it was found; `problem` says why there is none."""

    artifact: OutputArtifact
    size: int | None = None
    sha256: str | None = None
    problem: str | None = None


def collect(
    root: Root, wanted: Iterable[OutputArtifact], *, most_hashed: int = MAX_HASHED
) -> list[Collected]:
    """In the order in which they were asked for; those without a path are told as they are."""
    found, left = [], most_hashed
    for item in wanted:
        one = _collected(root, item, left)
        left -= one.size or 0 if one.sha256 else 0
        found.append(one)
    return found


def _collected(root: Root, artifact: OutputArtifact, left: int) -> Collected:
    if artifact.path is None:
        return Collected(artifact=artifact)
    try:
        file = root.open(artifact.path)
    except FileNotFoundError:
        return Collected(artifact=artifact, problem="there is no such file")
    except Refused as error:
        return Collected(artifact=artifact, problem=str(error))
    try:
        size = os.fstat(file).st_size
        return Collected(artifact=artifact, size=size, sha256=_sha256(file, size) if size <= left else None)
    except OSError as error:
        return Collected(artifact=artifact, problem=error.strerror)
    finally:
        os.close(file)


def _sha256(file: int, size: int) -> str:
    """Of the bytes that were there when it was opened: one that grows is not followed."""
    digest, left = hashlib.sha256(), size
    while left and (data := os.read(file, min(_CHUNK, left))):
        digest.update(data)
        left -= len(data)
    return digest.hexdigest()
