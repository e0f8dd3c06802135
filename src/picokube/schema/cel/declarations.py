"""Derives CEL declarations from schema nodes, and converts objects to values of the declared types."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import re2

from picokube.schema.cel.type_system import BOOL, BYTES, DYN, INT, STRING, Type, list_of, map_of
from picokube.schema.node import Node

_PIECE: Final = re2.compile(r"([0-9]*\.?[0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_WORDED: Final = re2.compile(r"(\d+)\s*([A-Za-z]+)")
_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_SHORT: Final = {**_SECONDS, "hr": 3600.0, "d": 86400.0, "w": 604800.0, "wk": 604800.0}
_LONG: Final = {
    "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "sec": 1.0, "min": 60.0, "hour": 3600.0, "day": 86400.0,
    "week": 604800.0,
}  # fmt: skip
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
MAX_REQUEST: Final = 3 * 2**20
_TEXT_BYTES: Final = 4  # maximum of one character
_FORMATS: Final = {
    "duration": (Type("duration"), 32, 3), "date": (Type("timestamp"), 12, 12), "date-time": (Type("timestamp"), 32, 21)
}  # fmt: skip
"""The CEL type of formats, and the maximum and minimum length of their text."""
_ROOT: Final = "selfType1"
_RESOURCE: Final = {
    "kind": Node(type="string"),
    "apiVersion": Node(type="string"),
    "metadata": Node(
        type="object", properties={"name": Node(type="string"), "generateName": Node(type="string")}
    ),
}


def normalize_timestamp(value: object) -> object:
    """A date or date-time in the format of timestamp()."""
    if not isinstance(value, str):
        return value
    text = value.upper()
    return text if "T" in text else f"{text}T00:00:00Z"


def normalize_duration(value: object) -> object:
    """A duration such as 1h30m or 3 days in the format of duration()."""
    if not isinstance(value, str):
        return value
    seconds = go_seconds(value)
    if seconds is not None:
        return value
    words = [(int(count), unit.lower()) for count, unit in _WORDED.findall(value)]
    return f"{sum(count * _worded(unit) for count, unit in words):.9f}s"


def go_seconds(text: str) -> float | None:
    """The seconds of a Go duration (time.ParseDuration). None if invalid."""
    unsigned = text[1:] if text[:1] in {"-", "+"} else text
    sign = -1 if text.startswith("-") else 1
    if unsigned == "0":
        return 0.0
    at, total = 0, 0.0
    while at < len(unsigned):
        match = _PIECE.match(unsigned, at)
        if match is None or match[1] in {"", "."}:
            return None
        total += float(match[1]) * _SECONDS[match[2]]
        at = match.end()
    return sign * total if unsigned else None


def _worded(unit: str) -> float:
    known = _SHORT.get(unit)
    return (
        known
        if known is not None
        else next((size for name, size in _LONG.items() if unit.startswith(name)), 0.0)
    )


def escape_name(name: str) -> str | None:
    """The identifier of a property in expressions. None if it can't be escaped."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


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
        name: (escape_name(name) or name, inner)
        for name, child in node.properties.items()
        if (inner := projection(child)) is not None or escape_name(name) not in {name, None}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A declared type. `max_size` is the maximum size() of a value, `min_size` its minimum length as JSON."""

    type: Type
    max_size: int = 0
    min_size: int
    fields: Mapping[str, "Declared"] = field(default_factory=dict)
    item: "Declared | None" = None
    key: "Declared | None" = None


_KEY: Final = Declared(type=STRING, min_size=2)
_SIMPLE: Final = {
    "boolean": Declared(type=BOOL, min_size=4),
    "number": Declared(type=Type("double"), min_size=1),
    "integer": Declared(type=INT, min_size=1),
}


def declare(node: Node, *, root: bool, name: str = _ROOT) -> Declared | None:
    """The declaration of a node. None if CEL can't access its values. `root` marks a complete resource.

    `name` is the type name of objects in messages. Upstream generates a new one for each compilation.
    """
    if node.int_or_string:
        max_size = _text_size(node) if node.max_length is not None else MAX_REQUEST - 2
        return Declared(type=DYN, max_size=max_size, min_size=1)
    match node.type:
        case "array":
            return _list(node, name)
        case "object" if node.additional is not None:
            return _map(node, name)
        case "object":
            return _object(node, name, root=root)
        case "string":
            return _text(node)
        case _:
            return _SIMPLE.get(node.type)


def _list(node: Node, name: str) -> Declared | None:
    item = declare(node.items, root=node.items.embedded, name=f"{name}.@idx") if node.items else None
    if item is None:
        return None
    max_size = _bounded(node.max_items, (MAX_REQUEST - 2) // (item.min_size + 1))
    return Declared(type=list_of(item.type), max_size=max_size, min_size=2, item=item)


def _map(node: Node, name: str) -> Declared | None:
    inner = node.additional
    item = declare(inner, root=inner.embedded, name=f"{name}.@elem") if inner else None
    if item is None:
        return None
    max_size = _bounded(node.max_properties, (MAX_REQUEST - 2) // (item.min_size + 6))
    return Declared(type=map_of(STRING, item.type), max_size=max_size, min_size=2, item=item, key=_KEY)


def _object(node: Node, name: str, *, root: bool) -> Declared:
    fields: dict[str, Declared] = {}
    min_size = 2
    for key, child in (_as_resource(node) if root else node.properties).items():
        identifier = escape_name(key)
        declaration = declare(child, root=child.embedded, name=f"{name}.{identifier}")
        if declaration is None:
            continue
        if identifier is not None:
            fields[identifier] = declaration
        if child.default is None and key in node.required:
            min_size += len(key.encode()) + declaration.min_size + 4
    return Declared(type=Type(name), min_size=min_size, fields=fields)


def _as_resource(node: Node) -> Mapping[str, Node]:
    """The fields of a resource, including apiVersion, kind and metadata, which the schema need not declare."""
    own = node.properties
    meta = own.get("metadata")
    named = meta is not None and all(
        name in meta.properties and meta.properties[name].type == "string"
        for name in ("name", "generateName")
    )
    typed = all(name in own and own[name].type == "string" for name in ("kind", "apiVersion"))
    return own if typed and named and meta is not None and meta.type == "object" else {**own, **_RESOURCE}


def _text(node: Node) -> Declared:
    known = _FORMATS.get(node.format)
    if known is not None:
        kind, max_size, min_size = known
        return Declared(type=kind, max_size=max_size, min_size=min_size)
    if node.format == "byte":
        return Declared(type=BYTES, max_size=_bounded(node.max_length, MAX_REQUEST - 2), min_size=2)
    if node.max_length is not None:
        return Declared(type=STRING, max_size=_text_size(node), min_size=2)
    if node.enum:
        longest = max((len(item.encode()) for item in node.enum if isinstance(item, str)), default=0)
        return Declared(type=STRING, max_size=longest, min_size=2)
    return Declared(type=STRING, max_size=MAX_REQUEST - 2, min_size=2)


def _text_size(node: Node) -> int:
    return max(node.max_length or 0, 0) * _TEXT_BYTES


def _bounded(limit: int | None, otherwise: int) -> int:
    return otherwise if limit is None else max(limit, 0)
