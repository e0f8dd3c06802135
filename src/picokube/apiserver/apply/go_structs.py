"""Which fields a built-in kind's Go struct always shows, even if nobody set them. Knows published schemas, and the few
fields of which these do not tell.
"""

from collections.abc import Mapping
from typing import Any, Final

_OPTIONAL_BUT_SHOWN: Final = frozenset(
    {"availableReplicas", "reportingComponent", "reportingInstance", "serviceName", "start", "status"}
)
"""Scalars that may be left out of a request and are shown all the same."""

_SHOWN_AS_NULL: Final = frozenset(
    {
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "eventTime",
        "finishedAt",
        "firstTimestamp",
        "lastHeartbeatTime",
        "lastObservedTime",
        "lastProbeTime",
        "lastTimestamp",
        "lastTransitionTime",
        "lastUpdateTime",
        "startedAt",
    }
)
"""Times that are no pointers."""

_NULLS_OF: Final[dict[frozenset[str], str]] = {
    frozenset({"apiGroup", "kind", "name"}): "apiGroup",
    frozenset({"defaultMode", "sources"}): "sources",
    frozenset({"port", "service"}): "service",
}
"""Pointers that are shown, by all fields of their struct."""


def zero_fields(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are always there, as nobody set them: published as defaults, or required and null."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = schema.get("required") or ()
    shown_pointer = _NULLS_OF.get(frozenset(properties))
    zeros: dict[str, Any] = {}
    for name, item in properties.items():
        zero = item.get("default")
        if zero == {}:
            zeros[name] = zero if item.get("type") == "object" else None
        elif name in required:
            if not zero:
                zeros[name] = zero
        elif name in _SHOWN_AS_NULL or name == shown_pointer:
            zeros[name] = None
        elif name in _OPTIONAL_BUT_SHOWN and zero in ("", 0):
            zeros[name] = zero
    return zeros
