"""How values merge, field by field: an OpenAPI schema reduced to scalars, lists and maps.

A type may allow several forms at once (untyped fields do); the value then decides. Types are shared and never change.
Objects of built-in kinds are Go structs, which have fields that cannot be left out.
"""

from collections.abc import Mapping
from typing import Any, Final

from picokube.apiserver.kinds.resources import ResourceType

_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "object", "additionalProperties": {"type": "string", "default": ""}}
_TIME: Final = {"type": "string", "format": "date-time"}
_INTEGER: Final = {"type": "integer", "format": "int64"}

TYPE_META_PROPERTIES: Final[dict[str, Any]] = {"apiVersion": _STRING, "kind": _STRING}

_OWNER_REFERENCE: Final = {
    "type": "object",
    "required": ["apiVersion", "kind", "name", "uid"],
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "apiVersion": {"type": "string", "default": ""},
        "blockOwnerDeletion": {"type": "boolean"},
        "controller": {"type": "boolean"},
        "kind": {"type": "string", "default": ""},
        "name": {"type": "string", "default": ""},
        "uid": {"type": "string", "default": ""},
    },
}

_MANAGED_FIELDS_ENTRY: Final = {
    "type": "object",
    "properties": {
        "apiVersion": _STRING,
        "fieldsType": _STRING,
        "fieldsV1": {"type": "object"},
        "manager": _STRING,
        "operation": _STRING,
        "subresource": _STRING,
        "time": _TIME,
    },
}

OBJECT_META_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "annotations": _STRINGS,
        "creationTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INTEGER,
        "deletionTimestamp": _TIME,
        "finalizers": {
            "type": "array",
            "items": {"type": "string", "default": ""},
            "x-kubernetes-list-type": "set",
            "x-kubernetes-patch-strategy": "merge",
        },
        "generateName": _STRING,
        "generation": _INTEGER,
        "labels": _STRINGS,
        "managedFields": {
            "type": "array",
            "items": _MANAGED_FIELDS_ENTRY,
            "x-kubernetes-list-type": "atomic",
        },
        "name": _STRING,
        "namespace": _STRING,
        "ownerReferences": {
            "type": "array",
            "items": _OWNER_REFERENCE,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-patch-merge-key": "uid",
            "x-kubernetes-patch-strategy": "merge",
        },
        "resourceVersion": _STRING,
        "selfLink": _STRING,
        "uid": _STRING,
    },
}


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
    """The fields that are always present, with their unset values: published defaults, or required and null."""
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
        """Fields that a built-in object always has, even if they were not set: Go structs cannot omit them."""
        self.is_struct = is_struct
        """A field that is null and one that is not there are the same."""


class MergeType:
    """The forms that a value may have. `loose`: equal values may still differ in type (true and 1)."""

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
    """The type of whole objects; apiVersion, kind and metadata are the same for all kinds."""
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


def with_zero_fields(kind: MergeType, value: Any) -> Any:
    """A value with the fields that its structs always show."""
    if type(value) is dict and kind.map is not None:
        fields, other = kind.map.fields, kind.map.element or DEDUCED
        members = kind.map.zeros | value if kind.map.zeros else value
        return {name: with_zero_fields(fields.get(name) or other, item) for name, item in members.items()}
    if type(value) is list and kind.list is not None and kind.list.element.map is not None:
        return [with_zero_fields(kind.list.element, item) for item in value]
    return value


def without_null_fields(kind: MergeType, value: Any) -> Any:
    """A value without the fields of its structs that are null, which is what leaving them out means."""
    if type(value) is dict and kind.map is not None:
        fields, other = kind.map.fields, kind.map.element or DEDUCED
        return {
            name: without_null_fields(fields.get(name) or other, item)
            for name, item in value.items()
            if item is not None or not kind.map.is_struct
        }
    if type(value) is list and kind.list is not None and kind.list.element.map is not None:
        return [without_null_fields(kind.list.element, item) for item in value]
    return value
