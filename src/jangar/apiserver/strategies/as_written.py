"""Decoded values as Go writes them: which empty fields are written and which are left out. Knows Go types; no kind."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from jangar.apiserver.strategies.go_types import (
    Field,
    GoType,
    ListOf,
    MapOf,
    Own,
    Pointer,
    Scalar,
    Struct,
    type_of,
)

SCHEMAS: Final = frozenset(
    f"apiextensions/v1.JSONSchemaPropsOr{other}" for other in ("Bool", "Array", "StringArray")
)
"""A schema, or something simpler in its place."""


def schema_props() -> GoType:
    return type_of("apiextensions/v1.JSONSchemaProps")


def schema_or_text(value: Any) -> GoType:
    return schema_props() if isinstance(value, dict) else Scalar("string", "string")


def zero(go_type: GoType) -> Any:
    """The empty value, as it is written where a field may not be left out."""
    match go_type:
        case Scalar(base="string"):
            return ""
        case Scalar(base="bool"):
            return False
        case Scalar(base="int32" | "int64" | "float64"):
            return 0
        case Struct():
            return written({}, go_type)
        case Own(name="resource.Quantity"):
            return "0"
        case Own(name="intstr.IntOrString"):
            return 0
        case Own(name="meta/v1.Duration"):
            return "0s"
        case _:
            return None


def written(obj: Mapping[str, Any], struct: Struct, *, stored: bool = True) -> dict[str, Any]:
    """A decoded object as Go writes it: fields in their order, empty ones left out or written by their tags.

    Storage knows no empty lists and maps: what was stored has none.
    """
    found: dict[str, Any] = {}
    always = _always(struct)
    for name, field in struct.fields.items():
        if name not in obj and name not in always:
            continue
        value = obj.get(name)
        value = _written(value, field.type, stored=stored) if value is not None else None
        if stored and value in ([], {}) and isinstance(field.type, ListOf | MapOf):
            value = None
        if value is None and not isinstance(field.type, Pointer):
            value = zero(field.type)
        if not _is_left_out(value, field):
            found[name] = value
    return found


@cache
def _always(struct: Struct) -> frozenset[str]:
    """Fields that are written even when they are absent."""
    return frozenset(
        name
        for name, field in struct.fields.items()
        if not _is_left_out(None if isinstance(field.type, Pointer) else zero(field.type), field)
    )


def _written(value: Any, go_type: GoType, *, stored: bool) -> Any:
    match go_type:
        case Pointer(to=to):
            return _written(value, to, stored=stored)
        case Struct():
            return written(value, go_type, stored=stored)
        case ListOf(item=Scalar()) | MapOf(value=Scalar()):
            return value
        case ListOf(item=item):
            return [_written(each, item, stored=stored) for each in value]
        case MapOf(value=of):
            return {key: _written(each, of, stored=stored) for key, each in value.items()}
        case Own(name=name) if name in SCHEMAS and isinstance(value, dict):
            return _written(value, schema_props(), stored=stored)
        case Own(name=name) if name in SCHEMAS and isinstance(value, list):
            return [_written(each, schema_or_text(each), stored=stored) for each in value]
        case _:
            return value


def _is_left_out(value: Any, field: Field) -> bool:
    if field.omit == "omitzero":
        return value is None or (not isinstance(field.type, Pointer) and value == zero(field.type))
    if field.omit != "omitempty":
        return False
    match field.type:
        case Pointer():
            return value is None
        case Scalar(base="any") | Scalar(base="[]byte"):
            return not value
        case Scalar() | ListOf() | MapOf():
            return not value
        case _:
            return False
