"""Cells as kubectl shows them: ages, selectors, lists of names. Knows values; knows no kind."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from picokube.apiserver.scaling import label_selector_text
from picokube.apiserver.tables import human_duration

Json = Mapping[str, Any]

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
