"""What a schema tells CEL of a value: its type, how large it can be, how small it can be written. Knows nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from picokube.schema.cel_types import BOOL, BYTES, DYN, INT, STRING, Type, list_of, map_of
from picokube.schema.cel_values import escaped
from picokube.schema.node import Node

LARGEST_REQUEST: Final = 3 * 2**20
_TEXT_BYTES: Final = 4  # of one character, at most
_FORMATS: Final = {
    "duration": (Type("duration"), 32, 3), "date": (Type("timestamp"), 12, 12), "date-time": (Type("timestamp"), 32, 21)
}  # fmt: skip
"""Formats that are a type of their own, the longest text of each, and the shortest."""
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
    """A type as the schema declares it. `most` is the largest size() of a value, `least` its shortest JSON."""

    type: Type
    most: int = 0
    least: int
    fields: Mapping[str, "Declared"] = field(default_factory=dict)
    item: "Declared | None" = None
    key: "Declared | None" = None


_KEY: Final = Declared(type=STRING, least=2)
_SIMPLE: Final = {
    "boolean": Declared(type=BOOL, least=4),
    "number": Declared(type=Type("double"), least=1),
    "integer": Declared(type=INT, least=1),
}


def declared(node: Node, *, root: bool, name: str = _ROOT) -> Declared | None:
    """What CEL knows of values of this node; None when it does not see them. `root` tells a whole resource.

    `name` is what objects are called in messages; upstream draws one anew for each compilation.
    """
    if node.int_or_string:
        most = _text_size(node) if node.max_length is not None else LARGEST_REQUEST - 2
        return Declared(type=DYN, most=most, least=1)
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
    most = _bounded(node.max_items, (LARGEST_REQUEST - 2) // (item.least + 1))
    return Declared(type=list_of(item.type), most=most, least=2, item=item)


def _map(node: Node, name: str) -> Declared | None:
    inner = node.additional
    item = declared(inner, root=inner.embedded, name=f"{name}.@elem") if inner else None
    if item is None:
        return None
    most = _bounded(node.max_properties, (LARGEST_REQUEST - 2) // (item.least + 6))
    return Declared(type=map_of(STRING, item.type), most=most, least=2, item=item, key=_KEY)


def _object(node: Node, name: str, *, root: bool) -> Declared:
    fields: dict[str, Declared] = {}
    least = 2
    for key, child in (_as_resource(node) if root else node.properties).items():
        identifier = escaped(key)
        found = declared(child, root=child.embedded, name=f"{name}.{identifier}")
        if found is None:
            continue
        if identifier is not None:
            fields[identifier] = found
        if child.default is None and key in node.required:
            least += len(key.encode()) + found.least + 4
    return Declared(type=Type(name), least=least, fields=fields)


def _as_resource(node: Node) -> Mapping[str, Node]:
    """The fields of a resource: those that every resource has are seen even where the schema is silent."""
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
        kind, most, least = known
        return Declared(type=kind, most=most, least=least)
    if node.format == "byte":
        return Declared(type=BYTES, most=_bounded(node.max_length, LARGEST_REQUEST - 2), least=2)
    if node.max_length is not None:
        return Declared(type=STRING, most=_text_size(node), least=2)
    if node.enum:
        longest = max((len(each.encode()) for each in node.enum if isinstance(each, str)), default=0)
        return Declared(type=STRING, most=longest, least=2)
    return Declared(type=STRING, most=LARGEST_REQUEST - 2, least=2)


def _text_size(node: Node) -> int:
    return max(node.max_length or 0, 0) * _TEXT_BYTES


def _bounded(limit: int | None, otherwise: int) -> int:
    return otherwise if limit is None else max(limit, 0)
