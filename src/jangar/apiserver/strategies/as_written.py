"""Decoded values as Go writes them: which empty fields are written and which are left out. Knows Go types; no kind."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from operator import not_
from typing import Any, Final, NamedTuple

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


def written(
    obj: Mapping[str, Any], struct: Struct, *, stored: bool = True, settled: Collection[str] = ()
) -> dict[str, Any]:
    """A decoded object as Go writes it: fields in their order, empty ones left out or written by their tags.

    Storage knows no empty lists and maps: what was stored has none. `settled` fields are as they were stored.
    """
    forms = _forms(struct)
    names = {name: forms[name].place for name in (*obj, *_always(struct)) if name in forms}
    found: dict[str, Any] = {}
    for name in sorted(names, key=names.__getitem__):
        form = forms[name]
        value = obj.get(name)
        if name in settled:
            found[name] = value
            continue
        if value is not None and form.write is not None:
            value = form.write(value, stored)
        if stored and form.is_collection and not value:
            value = None
        if value is None and form.has_zero:
            value = zero(form.type)
        if not form.is_left_out(value):
            found[name] = value
    return found


Write = Callable[[Any, bool], Any]
"""From a value, and whether it is stored, to how it is written."""


class _Form(NamedTuple):
    """How a field is written, worked out once."""

    place: int
    type: GoType
    write: Write | None
    """None where a value is written as it is."""
    is_collection: bool
    has_zero: bool
    is_left_out: Callable[[Any], bool]


@cache
def _forms(struct: Struct) -> dict[str, _Form]:
    return {name: _form(place, field) for place, (name, field) in enumerate(struct.fields.items())}


def _form(place: int, field: Field) -> _Form:
    return _Form(
        place=place,
        type=field.type,
        write=_writer(field.type),
        is_collection=isinstance(field.type, ListOf | MapOf),
        has_zero=not isinstance(field.type, Pointer),
        is_left_out=_left_out(field),
    )


@cache
def _always(struct: Struct) -> tuple[str, ...]:
    """Fields that are written even when they are absent."""
    forms = _forms(struct).items()
    return tuple(
        name for name, form in forms if not form.is_left_out(zero(form.type) if form.has_zero else None)
    )


@cache
def _writer(go_type: GoType) -> Write | None:
    match go_type:
        case Pointer(to=to):
            return _writer(to)
        case Struct():
            return lambda value, stored: written(value, go_type, stored=stored)
        case ListOf(item=item) if (of_item := _writer(item)) is not None:
            return lambda value, stored: [of_item(each, stored) for each in value]
        case MapOf(value=of) if (of_value := _writer(of)) is not None:
            return lambda value, stored: {key: of_value(each, stored) for key, each in value.items()}
        case Own(name=name) if name in SCHEMAS:
            return _written_schema
        case _:
            return None


def _written_schema(value: Any, stored: bool) -> Any:
    if isinstance(value, list):
        return [_written_as(each, schema_or_text(each), stored=stored) for each in value]
    return _written_as(value, schema_props(), stored=stored) if isinstance(value, dict) else value


def _written_as(value: Any, go_type: GoType, *, stored: bool) -> Any:
    write = _writer(go_type)
    return value if write is None else write(value, stored)


def _left_out(field: Field) -> Callable[[Any], bool]:
    if field.omit == "omitzero":
        if isinstance(field.type, Pointer):
            return _is_none
        return lambda value: value is None or value == zero(field.type)
    if field.omit != "omitempty":
        return _never
    match field.type:
        case Pointer():
            return _is_none
        case Scalar() | ListOf() | MapOf():
            return not_
        case _:
            return _never


def _is_none(value: Any) -> bool:
    return value is None


def _never(_: Any) -> bool:
    return False
