"""How Kubernetes shows an object to CEL: escaped names, numbers in their declared types. Knows nodes and JSON."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Final

from picokube.schema.cel_times import moment, span
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
    """The identifier that stands for a property in an expression; None if no identifier can."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)


def projection(node: Node) -> Projection | None:
    """What to do with a value before CEL sees it; None when it can be seen as it is."""
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
    "byte": _bytes, "date": moment, "date-time": moment, "duration": span
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
