"""The Go types of built-in kinds, read from data: which fields a struct has, and how each is written and left out.

Knows structs.json; decodes nothing. Types are found by name, so a type may hold itself.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final, TypeAlias

import orjson

OWN_FORM: Final = frozenset(
    {
        "meta/v1.Time", "meta/v1.MicroTime", "meta/v1.Duration", "resource.Quantity", "intstr.IntOrString",
        "runtime.RawExtension", "meta/v1.FieldsV1", "apiextensions/v1.JSON", "apiextensions/v1.JSONSchemaPropsOrBool",
        "apiextensions/v1.JSONSchemaPropsOrArray", "apiextensions/v1.JSONSchemaPropsOrStringArray",
    }
)  # fmt: skip
"""Types that read and write themselves."""

BUILT_IN: Final = frozenset({"string", "bool", "int32", "int64", "float64", "[]byte", "any"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a number, a truth value or bytes. `name` is as Go shows the type in messages."""

    base: str
    name: str


@dataclass(frozen=True, slots=True)
class Own:
    """A type that writes itself, such as a quantity or a time."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    item: "GoType"
    name: str


@dataclass(frozen=True, slots=True)
class MapOf:
    value: "GoType"
    name: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """May be absent although its type has an empty value of its own."""

    to: "GoType"


@dataclass(frozen=True, slots=True)
class Field:
    json: str
    type: "GoType"
    omit: str
    """When it is left out of JSON: omitempty, omitzero, or never."""
    number: int
    """In protobuf; 0 where it has none."""
    via: tuple[tuple[str, int], ...] = ()
    """Embedded structs that lead here: in JSON they do not show, in messages and protobuf they do."""


class Struct:
    """A struct, by name. Its fields are read on first use."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.short = key.rpartition(".")[2]
        self.name = shown(key)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """By their JSON name; those of embedded structs are among them."""
        found: dict[str, Field] = {}
        for json, go_type, omit, number in _table()[self.key]["fields"]:
            if omit != "inline":
                found[json] = Field(json, type_of(go_type), omit, number)
                continue
            inner = struct_of(go_type)
            for field in inner.fields.values():
                via = ((inner.short, number), *field.via)
                found[field.json] = Field(field.json, field.type, field.omit, field.number, via)
        return found

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each field when the struct is encoded."""
        return {name: place for place, name in enumerate(self.fields)}

    @cached_property
    def by_number(self) -> tuple[dict[int, Field], dict[int, "Struct"]]:
        """Fields, and embedded structs, by their number in protobuf."""
        own = {field.number: field for field in self.fields.values() if field.number and not field.via}
        embedded = {
            number: struct_of(go_type)
            for _, go_type, omit, number in _table()[self.key]["fields"]
            if omit == "inline" and number
        }
        return own, embedded


GoType: TypeAlias = Scalar | Own | ListOf | MapOf | Pointer | Struct


@cache
def _table() -> dict[str, Any]:
    data = resources.files("picokube.apiserver") / "data" / "structs.json"
    found: dict[str, Any] = orjson.loads(data.read_bytes())
    return found


def knows(struct: str) -> bool:
    return struct in _table()


@cache
def type_of(text: str) -> GoType:
    """A type as Go writes it, with packages by their path: `*int32`, `[]core/v1.Container`."""
    if text in OWN_FORM:
        return Own(text)
    if text in BUILT_IN:
        return Scalar(text, "[]uint8" if text == "[]byte" else text)
    if text.startswith("*"):
        return Pointer(type_of(text[1:]))
    if text.startswith("[]"):
        return ListOf(type_of(text[2:]), shown(text))
    if text.startswith("map["):
        return MapOf(type_of(text.partition("]")[2]), shown(text))
    row = _table()[text]
    return Struct(text) if "fields" in row else _renamed(type_of(row["is"]), shown(text))


def struct_of(text: str) -> Struct:
    """The struct of this name."""
    found = type_of(text)
    assert isinstance(found, Struct), text  # noqa: S101 - data that this package ships
    return found


def _renamed(found: GoType, name: str) -> GoType:
    """A defined type is its base under another name: `type RestartPolicy string`."""
    match found:
        case Scalar(base=base):
            return Scalar(base, name)
        case ListOf(item=item):
            return ListOf(item, name)
        case MapOf(value=value):
            return MapOf(value, name)
        case _:
            return found


def shown(text: str) -> str:
    """As messages show a type: only the last part of its package."""
    head, slash, rest = text.rpartition("/")
    if not slash:
        return text
    start = max(head.rfind("]"), head.rfind("*")) + 1
    return shown(head[:start]) + rest
