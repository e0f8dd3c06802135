"""Parses the events of a watch."""

from typing import Any, Final, Literal, NamedTuple, cast

import orjson

from kubekit.client.errors import ApiError, from_status
from kubekit.client.resource import Obj

WatchKind = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
KINDS: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


class WatchEvent(NamedTuple):
    """One change, or a BOOKMARK: all events up to its resourceVersion have been sent."""

    kind: WatchKind
    object: Obj

    @property
    def resource_version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])


def parse(line: bytes) -> WatchEvent:
    """Parse a line. Raises the error in an ERROR event, and ApiError if the line is not a watch event."""
    try:
        event: Any = orjson.loads(line)
        kind, obj = event["type"], event["object"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ApiError(f"not a watch event: {line[:200]!r}") from error
    if kind == "ERROR":
        raise from_status(obj)
    if kind not in KINDS:
        raise ApiError(f"unknown type of watch event: {kind!r}")
    return WatchEvent(cast("WatchKind", kind), obj)
