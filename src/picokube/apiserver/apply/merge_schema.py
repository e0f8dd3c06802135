"""How values merge, field by field: an OpenAPI schema boiled down to scalars, lists and maps. Knows no values.

A type may allow several forms at once (untyped fields do); the value then decides. Types are shared and never change.
"""

from collections.abc import Mapping
from typing import Any, Final

from picokube.apiserver.apply.go_structs import zero_fields
from picokube.apiserver.apply.object_meta_schema import OBJECT_META_SCHEMA, TYPE_META_PROPERTIES
from picokube.apiserver.resources import ResourceType

SCALAR, LIST, MAP = "scalar", "list", "map"
NUMERIC, STRING, BOOLEAN, UNTYPED = "numeric", "string", "boolean", "untyped"

_CACHE_SIZE = 1024


class ListType:
    """A list: replaced as a whole (atomic), a set of scalars (no keys), or a map in disguise (keys)."""

    __slots__ = ("atomic", "element", "keys")

    def __init__(self, element: "MergeType", *, atomic: bool, keys: tuple[str, ...] = ()) -> None:
        self.element, self.atomic, self.keys = element, atomic, keys


class MapType:
    """An object: known fields, and what others may be (None: there are no others)."""

    __slots__ = ("atomic", "defaults", "element", "fields", "is_struct", "zeros")

    def __init__(
        self,
        fields: dict[str, "MergeType"],
        element: "MergeType | None",
        *,
        atomic: bool,
        defaults: dict[str, Any] | None = None,
        zeros: dict[str, Any] | None = None,
        is_struct: bool = False,
    ) -> None:
        self.fields, self.element, self.atomic = fields, element, atomic
        self.defaults = defaults or {}
        """What a list key is when an item leaves it out."""
        self.zeros = zeros or {}
        """Fields that a built-in object always has, even if nobody wrote them: Go structs cannot leave them out."""
        self.is_struct = is_struct
        """A field that is null and one that is not there are the same."""


class MergeType:
    """The forms a value may take. `loose` says that equal values may still differ in type (true and 1)."""

    __slots__ = ("first", "fits", "list", "loose", "map", "scalar")

    def __init__(
        self, scalar: str | None = None, list_type: ListType | None = None, map_type: MapType | None = None
    ) -> None:
        self.scalar, self.list, self.map = scalar, list_type, map_type
        self.first: str = MAP if map_type else SCALAR if scalar else LIST
        self.loose = True
        self.fits: set[int] = set()
        """Marks of field sets that fit this type."""

    def form(self, value: Any) -> str:
        """Which form a value is read as. What fits none is read as the first."""
        kind = type(value)
        if kind is dict:
            return MAP if self.map is not None else self.first
        if kind is list:
            return LIST if self.list is not None else self.first
        return SCALAR if self.scalar is not None and value is not None else self.first


UNTYPED_ATOMIC: Final = MergeType(UNTYPED)
UNTYPED_ATOMIC.list = ListType(UNTYPED_ATOMIC, atomic=True)
UNTYPED_ATOMIC.map = MapType({}, UNTYPED_ATOMIC, atomic=True)
UNTYPED_ATOMIC.first = MAP
DEDUCED: Final = MergeType(UNTYPED)
DEDUCED.list = ListType(UNTYPED_ATOMIC, atomic=True)
DEDUCED.map = MapType({}, DEDUCED, atomic=False)
DEDUCED.first = MAP

_compiled: dict[tuple[int, bool, bool], tuple[Mapping[str, Any], MergeType]] = {}


def merge_type(resource: ResourceType, *, structs: bool = False) -> MergeType:
    """The type of a kind's objects; compiled once a schema.

    With `structs`, objects of a built-in kind are Go structs, and have fields that they cannot leave out.
    """
    structs = structs and not resource.is_custom
    key = (id(resource.schema), resource.is_custom, structs)
    found = _compiled.get(key)
    if found is not None:
        return found[1]
    compiled = object_type(resource.schema, custom=resource.is_custom, structs=structs)
    if len(_compiled) >= _CACHE_SIZE:
        _compiled.clear()
    _compiled[key] = (resource.schema, compiled)
    return compiled


def object_type(schema: Mapping[str, Any], *, custom: bool, structs: bool = False) -> MergeType:
    """The type of whole objects: apiVersion, kind and metadata are what they are everywhere."""
    if not schema:
        return DEDUCED
    properties = dict(schema.get("properties") or {})
    declared = properties.get("metadata") or {}
    if custom or not declared.get("properties"):
        properties["metadata"] = OBJECT_META_SCHEMA
    whole = {**schema, "properties": TYPE_META_PROPERTIES | properties}
    return _Compiler(structs=structs).type_of(whole, preserve=False)


class _Compiler:
    def __init__(self, *, structs: bool) -> None:
        self.structs = structs

    def type_of(self, schema: Mapping[str, Any], *, preserve: bool) -> MergeType:
        preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
        kind = schema.get("type") or ""
        if kind == "object":
            compiled = MergeType(map_type=self._map(schema, preserve=preserve))
        elif kind == "array":
            compiled = MergeType(list_type=self._list(schema, preserve=preserve))
        elif kind:
            return _scalar(kind, schema.get("format") or "")
        else:
            compiled = MergeType(
                UNTYPED, self._list(schema, preserve=preserve), self._map(schema, preserve=preserve)
            )
        compiled.loose = compiled.scalar is not None or _below_is_loose(compiled)
        return compiled

    def _map(self, schema: Mapping[str, Any], *, preserve: bool) -> MapType:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        if schema.get("x-kubernetes-embedded-resource") is True:
            properties = {**properties, **TYPE_META_PROPERTIES, "metadata": OBJECT_META_SCHEMA}
        fields = {
            name: self.type_of(item, preserve=preserve and item is not OBJECT_META_SCHEMA)
            for name, item in properties.items()
        }
        additional = schema.get("additionalProperties")
        element: MergeType | None = None
        if isinstance(additional, Mapping):
            element = self.type_of(additional, preserve=preserve)
        elif additional or (additional is None and (preserve or not properties)):
            element = DEDUCED
        return MapType(
            fields,
            element,
            atomic=schema.get("x-kubernetes-map-type") == "atomic",
            defaults={name: item["default"] for name, item in properties.items() if "default" in item},
            zeros=zero_fields(schema) if self.structs else None,
            is_struct=self.structs and bool(properties),
        )

    def _list(self, schema: Mapping[str, Any], *, preserve: bool) -> ListType:
        items = schema.get("items")
        element = self.type_of(items, preserve=preserve) if isinstance(items, Mapping) else UNTYPED_ATOMIC
        match schema.get("x-kubernetes-list-type"):
            case "map":
                keys = sorted(schema.get("x-kubernetes-list-map-keys") or ())
                return ListType(element, atomic=False, keys=tuple(keys))
            case "set":
                return ListType(element, atomic=False)
            case None if "merge" in str(schema.get("x-kubernetes-patch-strategy") or "").split(","):
                key = schema.get("x-kubernetes-patch-merge-key")
                return ListType(element, atomic=False, keys=(key,) if key else ())
            case _:
                return ListType(element, atomic=True)


def _scalar(kind: str, text_format: str) -> MergeType:
    if kind in ("integer", "number"):
        compiled = MergeType(NUMERIC)
    elif kind == "boolean":
        compiled = MergeType(BOOLEAN)
    else:
        compiled = MergeType(STRING if kind == "string" and text_format in ("", "byte") else UNTYPED)
    compiled.loose = False
    return compiled


def _below_is_loose(compiled: MergeType) -> bool:
    if compiled.list is not None:
        return compiled.list.element.loose
    below = compiled.map
    if below is None:
        return False
    return (below.element is not None and below.element.loose) or any(
        field.loose for field in below.fields.values()
    )
