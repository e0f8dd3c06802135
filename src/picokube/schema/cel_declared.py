"""Derives CEL declarations from schema nodes: type, maximum size and minimum length as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from picokube.schema.cel_types import BOOL, BYTES, DYN, INT, STRING, Type, list_of, map_of
from picokube.schema.cel_values import escaped
from picokube.schema.node import Node

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


def declared(node: Node, *, root: bool, name: str = _ROOT) -> Declared | None:
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
    item = declared(node.items, root=node.items.embedded, name=f"{name}.@idx") if node.items else None
    if item is None:
        return None
    max_size = _bounded(node.max_items, (MAX_REQUEST - 2) // (item.min_size + 1))
    return Declared(type=list_of(item.type), max_size=max_size, min_size=2, item=item)


def _map(node: Node, name: str) -> Declared | None:
    inner = node.additional
    item = declared(inner, root=inner.embedded, name=f"{name}.@elem") if inner else None
    if item is None:
        return None
    max_size = _bounded(node.max_properties, (MAX_REQUEST - 2) // (item.min_size + 6))
    return Declared(type=map_of(STRING, item.type), max_size=max_size, min_size=2, item=item, key=_KEY)


def _object(node: Node, name: str, *, root: bool) -> Declared:
    fields: dict[str, Declared] = {}
    min_size = 2
    for key, child in (_as_resource(node) if root else node.properties).items():
        identifier = escaped(key)
        found = declared(child, root=child.embedded, name=f"{name}.{identifier}")
        if found is None:
            continue
        if identifier is not None:
            fields[identifier] = found
        if child.default is None and key in node.required:
            min_size += len(key.encode()) + found.min_size + 4
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
