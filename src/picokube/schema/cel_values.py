"""Converts objects for CEL: escapes property names and converts numbers to their declared types."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from picokube.schema.cel_times import normalize_duration, normalize_timestamp
from picokube.schema.node import Node

_RESERVED: Final = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
        "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED: Final = re.compile(r"__|[-./]")
_ESCAPABLE: Final = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*")

Projection = Callable[[Any], Any]


def escaped(name: str) -> str | None:
    """The identifier of a property in expressions. None if it can't be escaped."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)


def projection(node: Node) -> Projection | None:
    """The conversion of a value for CEL. None if none is needed."""
    if node.int_or_string or node.type == "integer":
        return _whole
    match node.type:
        case "number":
            return _double
        case "string":
            return _TEXTS.get(node.format)
        case "array":
            return _of_items(projection(node.items)) if node.items is not None else None
        case "object" if node.additional is not None:
            return _of_values(projection(node.additional))
        case "object":
            return _of_fields(node)
        case _:
            return None


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _double(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value) if isinstance(value, str) else value
    except (binascii.Error, ValueError):
        return value


_TEXTS: Final[dict[str, Projection]] = {
    "byte": _bytes, "date": normalize_timestamp, "date-time": normalize_timestamp, "duration": normalize_duration
}  # fmt: skip


def _of_items(each: Projection | None) -> Projection | None:
    if each is None:
        return None
    return lambda value: [each(item) for item in value] if isinstance(value, list) else value


def _of_values(each: Projection | None) -> Projection | None:
    if each is None:
        return None
    return lambda value: (
        {name: each(item) for name, item in value.items()} if isinstance(value, dict) else value
    )


def _of_fields(node: Node) -> Projection | None:
    plan = {
        name: (escaped(name) or name, inner)
        for name, child in node.properties.items()
        if (inner := projection(child)) is not None or escaped(name) not in {name, None}
    }
    if not plan:
        return None

    def project(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        seen = {}
        for name, item in value.items():
            known, inner = plan.get(name, (name, None))
            seen[known] = inner(item) if inner is not None else item
        return seen

    return project
