"""Decodes JSON into a Go type, as encoding/json does: reports unknown fields, and values that a field cannot hold."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from picokube.apiserver.gotypes import scalar_types
from picokube.apiserver.gotypes.encoding import SCHEMAS, schema_or_text, schema_props, zero
from picokube.apiserver.gotypes.go_types import Field, GoType, ListOf, MapOf, Own, Pointer, Scalar, Struct
from picokube.apiserver.protocol.body import json_kind
from picokube.schema import UnknownField

_KINDS: Final = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
_NUMBERS: Final = frozenset({"int32", "int64", "float64"})


def restoring_problem(value: Any, go_type: Scalar | Struct | ListOf | MapOf) -> str:
    """Why this value cannot become one of that type."""
    found = _KINDS[type(value)]
    match go_type:
        case MapOf():
            return f"cannot restore map from {found}"
        case ListOf() | Scalar(base="[]byte"):
            return f"cannot restore slice from {found}"
        case Struct():
            return f"cannot restore struct from: {found}"
        case Scalar(base=base, name=name):
            # Go has a conversion of these, which the converter does not allow.
            is_convertible = found in _NUMBERS if base in _NUMBERS else (found, base) == ("int64", "string")
            return f"cannot convert {found} to {name}" if is_convertible else f"unrecognized type: {base}"


MAX_DEPTH: Final = 200
_BITS: Final = {"int32": 31, "int64": 63}
_EMPTY: Final[dict[str, Any]] = {}
_AMOUNTS: Final = "v1.ResourceList"
_PLAIN: Final = {"string": str, "bool": bool}
"""Scalars that hold every value of one JSON type."""


class WrongType(ValueError):
    """A value that does not fit its field, with the text of Go's JSON decoder.

    `conversion_errors` has the converter's text.
    """

    def __init__(self, message: str, restoring: str = "") -> None:
        super().__init__(message)
        self.restoring = restoring or message


@cache
def _plain_fields(struct: Struct) -> dict[str, type]:
    """Fields that take every value of a JSON type as it is."""
    types = {name: _pointed_at(field.type) for name, field in struct.fields.items()}
    return {
        name: _PLAIN[found.base]
        for name, found in types.items()
        if isinstance(found, Scalar) and found.base in _PLAIN
    }


def _pointed_at(go_type: GoType) -> GoType:
    return _pointed_at(go_type.to) if isinstance(go_type, Pointer) else go_type


class Decoding:
    """One walk over one object: the fields that the type does not have are collected on the way."""

    def __init__(self) -> None:
        self.unknown: list[UnknownField] = []
        self._path: list[str | int] = []
        self._fields: list[Field] = []

    def whole(self, value: Any, struct: Struct, known: Any = None) -> dict[str, Any]:
        """A value that no field holds."""
        if not isinstance(value, dict):
            kind = json_kind(value)
            raise WrongType(f"json: cannot unmarshal {kind} into Go value of type {struct.name}")
        return self.struct(value, struct, known)

    def struct(self, obj: Mapping[str, Any], struct: Struct, known: Any = None) -> dict[str, Any]:
        """Decode an object. Values identical to those in `known`, which is decoded, are shared."""
        found: dict[str, Any] = {}
        fields, plain = struct.fields, _plain_fields(struct) if len(self._path) < MAX_DEPTH else {}
        was = known if isinstance(known, dict) else _EMPTY
        for key, value in obj.items():
            if plain.get(key) is type(value):
                found[key] = value
                continue
            before = was.get(key)
            if value is before and value is not None:
                found[key] = value
                continue
            field = fields.get(key)
            if field is None:
                self.unknown.append(UnknownField(path=(*self._path, key)))
            elif value is not None:
                found[key] = self._field(value, field, struct, before)
        return found

    def _field(self, value: Any, field: Field, struct: Struct, known: Any) -> Any:
        self._fields.append(field)
        self._path.append(field.json)
        if len(self._path) > MAX_DEPTH:
            raise WrongType("exceeded max depth")
        decoded = self._value(value, field.type, struct, known)
        self._path.pop()
        self._fields.pop()
        return decoded

    def _value(self, value: Any, go_type: GoType, inside: Struct, known: Any = None) -> Any:
        if isinstance(go_type, Pointer):
            return self._value(value, go_type.to, inside, known)
        if isinstance(go_type, Scalar):
            return self._scalar(value, go_type, inside)
        if isinstance(go_type, Own):
            return self._own(value, go_type.name, inside)
        if isinstance(go_type, ListOf):
            if not isinstance(value, list):
                raise self._wrong(value, go_type, inside)
            was = known if isinstance(known, list) else ()
            shared = len(was)
            return [
                item
                if n < shared and item is was[n] and item is not None
                else self._element(n, item, go_type.item, inside, was[n] if n < shared else None)
                for n, item in enumerate(value)
            ]
        if not isinstance(value, dict):
            raise self._wrong(value, go_type, inside)
        if isinstance(go_type, Struct):
            return self.struct(value, go_type, known)
        found = {key: self._element(key, item, go_type.value, inside) for key, item in value.items()}
        return scalar_types.whole_millis(found) if go_type.name == _AMOUNTS else found

    def _element(
        self, place: str | int, value: Any, go_type: GoType, inside: Struct, known: Any = None
    ) -> Any:
        if value is None:
            # Storage knows no bytes that are null, only none.
            is_bytes = isinstance(go_type, Scalar) and go_type.base == "[]byte"
            return "" if is_bytes else zero(go_type)
        self._path.append(place)
        if len(self._path) > MAX_DEPTH:
            raise WrongType("exceeded max depth")
        decoded = self._value(value, go_type, inside, known)
        self._path.pop()
        return decoded

    def _scalar(self, value: Any, scalar: Scalar, inside: Struct) -> Any:
        if type(value) is _PLAIN.get(scalar.base):
            return value
        match scalar.base, value:
            case "any", _:
                return value
            case "int32" | "int64" as base, int() if not isinstance(value, bool):
                if -(2 ** _BITS[base]) <= value < 2 ** _BITS[base]:
                    return value
                raise self._wrong(value, scalar, inside, literal=True)
            case "int32" | "int64", float():
                raise self._wrong(value, scalar, inside, literal=True)
            case "float64", int() | float() if not isinstance(value, bool):
                return value
            case "[]byte", str():
                return scalar_types.base64_text(value)
            case _:
                raise self._wrong(value, scalar, inside)

    def _own(self, value: Any, name: str, inside: Struct) -> Any:
        if name == "intstr.IntOrString":
            return self._self_reading(value, Scalar("int32", "int32"), inside)
        if name in ("meta/v1.Time", "meta/v1.MicroTime", "meta/v1.Duration"):
            self._self_reading(value, Scalar("string", "string"), inside)
        if name in SCHEMAS:
            return self._schema(value, inside)
        return scalar_types.READERS[name](value)

    def _self_reading(self, value: Any, form: Scalar, inside: Struct) -> Any:
        """A text, or a value of the other form that the type reads itself."""
        if isinstance(value, str):
            return value
        try:
            return self._scalar(value, form, inside)
        except WrongType as error:
            message = str(error).partition(" into Go struct field ")[0]
            raise WrongType(str(error), f"{message} into Go value of type {form.name}") from error

    def _schema(self, value: Any, inside: Struct) -> Any:
        """Types that read themselves, without reporting unknown fields."""
        known = len(self.unknown)
        if isinstance(value, dict):
            value = self._value(value, schema_props(), inside)
        elif isinstance(value, list):
            value = [self._element(n, item, schema_or_text(item), inside) for n, item in enumerate(value)]
        del self.unknown[known:]
        return value

    def _wrong(
        self,
        value: Any,
        go_type: Scalar | Struct | ListOf | MapOf,
        inside: Struct,
        *,
        literal: bool = False,
    ) -> WrongType:
        shown = json_kind(value) + (f" {value}" if literal else "")
        names = [name for field in self._fields for name in (*(via for via, _ in field.via), field.json)]
        place = f"{inside.short}.{'.'.join(names)}"
        return WrongType(
            f"json: cannot unmarshal {shown} into Go struct field {place} of type {go_type.name}",
            restoring_problem(value, go_type),
        )
