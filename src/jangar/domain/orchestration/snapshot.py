"""The definition at the start of a run, compressed for an object that the run owns (DAG-3, DAG-14).

The bytes are plain gzip, which common tools can read.
"""

import json
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from jangar.api.meta import JsonObject
from jangar.domain.orchestration.child_names import owned_name

MAX_ENCODED_BYTES = 700 * 1024
"""Maximum compressed size: base64 adds a third, and the object must stay below 1 MiB."""
MAX_DECODED_BYTES = 32 * 1024 * 1024

_GZIP = zlib.MAX_WBITS | 16


class UnreadableSnapshot(ValueError):
    """Bytes that `encode_snapshot` did not write: damaged or malicious."""


def encode_snapshot(spec: Mapping[str, Any]) -> bytes:
    """The definition, compressed; the same definition gives the same bytes."""
    packer = zlib.compressobj(level=9, wbits=_GZIP)
    return packer.compress(_canonical(spec)) + packer.flush()


def decode_snapshot(data: bytes) -> JsonObject:
    """The definition in a snapshot; raises UnreadableSnapshot if there is none."""
    unpacker = zlib.decompressobj(wbits=_GZIP)
    try:
        text = unpacker.decompress(data, MAX_DECODED_BYTES + 1)
    except zlib.error as error:
        raise UnreadableSnapshot(f"not a snapshot: {error}") from error
    if len(text) > MAX_DECODED_BYTES:
        raise UnreadableSnapshot(f"the snapshot holds more than {MAX_DECODED_BYTES} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise UnreadableSnapshot("the snapshot is cut off or has something appended")
    try:
        spec = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableSnapshot(f"not a snapshot: {error}") from error
    if not isinstance(spec, dict):
        raise UnreadableSnapshot("the snapshot holds no object")
    return spec


def snapshot_hash(spec: Mapping[str, Any]) -> str:
    """sha256 of the definition itself, independent of compression."""
    return sha256(_canonical(spec)).hexdigest()


def snapshot_name(run_name: str, run_uid: str, content_hash: str) -> str:
    """Name of the object that holds a run's snapshot. Other content has another name, so a late
    create of an earlier snapshot does not collide.
    """
    return owned_name(run_name, f"{run_uid} {content_hash}", "snapshot")


def _canonical(spec: Mapping[str, Any]) -> bytes:
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode()
