"""What a line of a watch says."""

from typing import Any, Final, Literal, NamedTuple, cast

import orjson

from kubekit.client.errors import ApiError, from_status
from kubekit.client.resource import Obj

WatchKind = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
KINDS: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})


class WatchEvent(NamedTuple):
    """One change, or with BOOKMARK the news that everything up to its resourceVersion has been told."""

    kind: WatchKind
    object: Obj

    @property
    def resource_version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])


def parse(line: bytes) -> WatchEvent:
    """Raises what an ERROR says; ApiError if the line is no watch event."""
    try:
        said: Any = orjson.loads(line)
        kind, subject = said["type"], said["object"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ApiError(f"not a watch event: {line[:200]!r}") from error
    if kind == "ERROR":
        raise from_status(subject)
    if kind not in KINDS:
        raise ApiError(f"a watch event of an unknown type: {kind!r}")
    return WatchEvent(cast("WatchKind", kind), subject)
