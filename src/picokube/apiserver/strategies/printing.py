"""Cells as kubectl shows them: ages, selectors, lists of names. Knows values; knows no kind."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from picokube.apiserver.kinds.scaling import label_selector_text
from picokube.apiserver.protocol.messages import Json

NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"


def age(timestamp: str | None) -> str:
    """How long ago; <unknown> for never."""
    if not timestamp:
        return UNKNOWN
    return human_duration((datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds())


def between(start: str, end: str | None) -> str:
    """From then to then, or until now."""
    until = datetime.fromisoformat(end) if end else datetime.now(UTC)
    return human_duration((until - datetime.fromisoformat(start)).total_seconds())


def created(obj: Json) -> str:
    return age(obj["metadata"].get("creationTimestamp"))


def names_of(items: Iterable[Json] | None, key: str = "name") -> str:
    return ",".join(str(item.get(key, "")) for item in items or ())


def pairs(found: Mapping[str, str] | None) -> str:
    """`a=b,c=d`, or <none>."""
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or NONE


def selector(found: Json | None) -> str:
    """A label selector in the short form."""
    return NONE if found is None else label_selector_text(found) or NONE


def condition(obj: Json, kind: str) -> Json | None:
    """The condition of this type in an object's status, if it is true."""
    found: Sequence[Json] = (obj.get("status") or {}).get("conditions") or ()
    return next((item for item in found if item.get("type") == kind and item.get("status") == "True"), None)


def containers_and_images(template: Json) -> tuple[str, str]:
    containers = (template.get("spec") or {}).get("containers") or ()
    return names_of(containers), names_of(containers, "image")


_SCALES = (
    (2 * 60, 1, "s", 0, ""),
    (10 * 60, 60, "m", 1, "s"),
    (3 * 3600, 60, "m", 0, ""),
    (8 * 3600, 3600, "h", 60, "m"),
    (48 * 3600, 3600, "h", 0, ""),
    (8 * 86400, 86400, "d", 3600, "h"),
    (2 * 365 * 86400, 86400, "d", 0, ""),
    (8 * 365 * 86400, 365 * 86400, "y", 86400, "d"),
)
"""Limit in seconds, unit, its name, and the finer unit of the remainder."""


def human_duration(seconds: float) -> str:
    """As kubectl shows ages: two units at most, coarser the older."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    for limit, unit, name, finer, finer_name in _SCALES:
        if whole < limit:
            left = whole % unit // finer if finer else 0
            return f"{whole // unit}{name}" + (f"{left}{finer_name}" if left else "")
    return f"{whole // (365 * 86400)}y"


def first_three(texts: Sequence[str]) -> str:
    """The first three texts, and how many more there are."""
    more = f" + {len(texts) - 3} more..." if len(texts) > 3 else ""  # noqa: PLR2004 - kubectl shows three
    return ",".join(texts[:3]) + more
