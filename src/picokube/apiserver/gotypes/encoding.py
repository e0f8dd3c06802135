"""Encodes decoded values as Go does: which empty fields are written and which are omitted. Knows no kind."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import zip_longest
from operator import not_
from typing import Any, Final, NamedTuple

from picokube.apiserver.gotypes.go_types import (
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
_EMPTY: Final[dict[str, Any]] = {}
MAX_SHAPES: Final = 64
"""So many sets of fields are remembered for each type: a client must not be able to fill the memory."""


def schema_props() -> GoType:
    return type_of("apiextensions/v1.JSONSchemaProps")


def schema_or_text(value: Any) -> GoType:
    return schema_props() if isinstance(value, dict) else Scalar("string", "string")


def zero(go_type: GoType) -> Any:
    """The empty value that Go writes for a field that may not be omitted."""
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
    obj: Mapping[str, Any],
    struct: Struct,
    *,
    stored: bool = True,
    settled: Collection[str] = (),
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A decoded object as Go writes it: fields in their order, empty ones left out or written by their tags.

    Storage knows no empty lists and maps: what was stored has none. `settled` fields are as they were stored, and so is
    whatever is the very same, at the same place, in the `known` object that was stored: it is passed through.
    """
    return _written(obj, struct, stored, {name: obj[name] for name in settled} if settled else known)


def _written(obj: Mapping[str, Any], struct: Struct, stored: bool, known: Any) -> dict[str, Any]:
    rows = _rows(struct, obj)
    was = known if type(known) is dict else _EMPTY
    found: dict[str, Any] = {}
    for name, write, is_collection, is_left_out, absent in rows:
        value = obj.get(name)
        if value is not None:
            if write is not None:
                before = was.get(name)
                if value is before:
                    found[name] = value
                    continue
                value = write(value, stored, before)
            if not (stored and is_collection and not value):
                if is_left_out is None or not is_left_out(value):
                    found[name] = value
                continue
        if absent is not None:
            found[name] = absent()
    return found


Write = Callable[[Any, bool, Any], Any]
"""Encodes a value; the arguments are the value, whether it is stored, and the known value in its place."""


class _Form(NamedTuple):
    """How a field is written, worked out once."""

    name: str
    write: Write | None
    """None where a value is written as it is."""
    is_collection: bool
    is_left_out: Callable[[Any], bool] | None
    """Whether a value that is there is left out; None where none ever is."""
    absent: Callable[[], Any] | None
    """Makes the value of an absent field; None if it is omitted."""


def _rows(struct: Struct, obj: Mapping[str, Any]) -> Iterable[_Form]:
    """How the fields are written that an object has, and those that are written in any case. Few shapes come often."""
    forms, always, known = _forms(struct)
    if len(obj) + len(always) >= len(forms):
        return forms.values()
    shape = tuple(obj)
    if (rows := known.get(shape)) is None:
        names = {name for name in obj if name in forms}
        rows = tuple(forms[name] for name in sorted(names.union(always), key=struct.places.__getitem__))
        if len(known) < MAX_SHAPES and names.issuperset(shape):
            known[shape] = rows
    return rows


def restore(obj: dict[str, Any], struct: Struct, names: Collection[str]) -> None:
    """What Go writes where fields of a written object were taken away."""
    forms, _, _ = _forms(struct)
    for name in names:
        if name not in obj and name in forms and (absent := forms[name].absent) is not None:
            obj[name] = absent()


@cache
def _forms(
    struct: Struct,
) -> tuple[dict[str, _Form], tuple[str, ...], dict[tuple[str, ...], tuple[_Form, ...]]]:
    """Every field in its order, those that are written even when they are absent, and a place for known shapes.

    A shape is the names of an object's fields, in the object's order.
    """
    forms = {name: _form(name, field) for name, field in struct.fields.items()}
    return forms, tuple(name for name, form in forms.items() if form.absent is not None), {}


def _form(name: str, field: Field) -> _Form:
    is_left_out = _left_out(field)
    absent = None if isinstance(field.type, Pointer) else zero(field.type)
    return _Form(
        name=name,
        write=_writer(field.type),
        is_collection=isinstance(field.type, ListOf | MapOf),
        is_left_out=None if is_left_out in (_never, _is_none) else is_left_out,
        absent=None if is_left_out(absent) else _each_time(field.type),
    )


def _each_time(go_type: GoType) -> Callable[[], Any]:
    """A new empty value of a type: it may be filled in. A pointer that is always written is null."""
    return lambda: None if isinstance(go_type, Pointer) else zero(go_type)


@cache
def _writer(go_type: GoType) -> Write | None:
    match go_type:
        case Pointer(to=to):
            return _writer(to)
        case Struct():
            return lambda value, stored, known: _written(value, go_type, stored, known)
        case ListOf(item=item) if (of_item := _writer(item)) is not None:
            return lambda value, stored, known: _written_items(value, of_item, stored, known)
        case MapOf(value=of) if (of_value := _writer(of)) is not None:
            return lambda value, stored, known: _written_members(value, of_value, stored, known)
        case Own(name=name) if name in SCHEMAS:
            return _written_schema
        case _:
            return None


def _written_items(value: list[Any], write: Write, stored: bool, known: Any) -> list[Any]:
    if type(known) is not list:
        return [write(item, stored, None) for item in value]
    return [
        item if item is was else write(item, stored, was)
        for item, was in zip_longest(value, known[: len(value)])
    ]


def _written_members(value: dict[str, Any], write: Write, stored: bool, known: Any) -> dict[str, Any]:
    was = known if type(known) is dict else _EMPTY
    return {
        key: item if item is was.get(key) else write(item, stored, was.get(key))
        for key, item in value.items()
    }


def _written_schema(value: Any, stored: bool, _known: Any) -> Any:
    if isinstance(value, list):
        return [_written_as(item, schema_or_text(item), stored=stored) for item in value]
    return _written_as(value, schema_props(), stored=stored) if isinstance(value, dict) else value


def _written_as(value: Any, go_type: GoType, *, stored: bool) -> Any:
    write = _writer(go_type)
    return value if write is None else write(value, stored, None)


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
