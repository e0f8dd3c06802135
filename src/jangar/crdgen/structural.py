"""Converts a pydantic model to a structural OpenAPI v3 schema. Knows JSON Schema and Kubernetes' dialect, but no kind.

Differences from pydantic's own JSON Schema:

- there are no references: every model is inlined, so a recursive one is rejected;
- an optional field is a field that is not required; `null` is never a value (the API server drops it);
- a pydantic default is what the code assumes when it reads. It is not written into users' objects: only a
  `default` in `json_schema_extra` becomes a default of the API server;
- a field's own description replaces that of its type, and its CEL rules are added to those of its type;
- `int | str` is Kubernetes' int-or-string; any other union is rejected.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from jangar.api.meta import OPEN, JsonObject


class CrdgenError(Exception):
    """Base class of the generator's errors."""


class NotExpressible(CrdgenError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class RecursiveModel(CrdgenError):
    def __init__(self, path: str, models: Sequence[str]) -> None:
        super().__init__(
            f"{path}: {' -> '.join(models)} contains itself, which a structural schema cannot express; "
            "make the inner field an open object"
        )
        self.path, self.models = path, tuple(models)


RULES: Final = "x-kubernetes-validations"
INT_OR_STRING: Final = "x-kubernetes-int-or-string"

_DEFS: Final = "#/$defs/"
_CARRIED: Final = (
    "description",
    "type",
    "format",
    "default",
    "example",
    "nullable",
    "enum",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "anyOf",
    "properties",
    "additionalProperties",
    "items",
)
"""Keywords of the result in the order they are written; extensions follow by name."""

_REJECTED: Final = {
    "uniqueItems": "a set is not possible; use a list with LIST_SET",
    "prefixItems": "a tuple is not possible; use a list or an object",
    "propertyNames": "keys cannot be constrained; use dict[str, ...]",
    "patternProperties": "keys cannot be constrained; use dict[str, ...]",
    "oneOf": "only int | str is a possible union",
    "discriminator": "only int | str is a possible union",
}


def structural_schema(model: type[BaseModel]) -> JsonObject:
    """The schema of `model`. Raises CrdgenError for what a structural schema cannot express."""
    document = model.model_json_schema(by_alias=True, mode="validation", schema_generator=_PlainJsonSchema)
    return _Conversion(document.pop("$defs", {})).schema(document, model.__name__)


class _PlainJsonSchema(GenerateJsonSchema):
    """Pydantic's JSON Schema, in the order of the code, without titles, nulls and pydantic's defaults."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002  # the signature is pydantic's
        return False

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:  # noqa: ARG002
        return value


class _Conversion:
    """Converts one JSON Schema document; `definitions` are its `$defs`."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        self._definitions = definitions
        self._keywords: Mapping[str, Callable[[Any, str, tuple[str, ...]], JsonObject]] = {
            "title": lambda *_: {},
            "description": lambda text, *_: {"description": unwrapped(text)},
            "const": lambda value, *_: {"enum": [value]},
            "exclusiveMinimum": lambda bound, *_: {"minimum": bound, "exclusiveMinimum": True},
            "exclusiveMaximum": lambda bound, *_: {"maximum": bound, "exclusiveMaximum": True},
            "properties": self._properties,
            "additionalProperties": self._map_values,
            "items": self._items,
        }

    def schema(self, node: JsonObject, at: str, within: tuple[str, ...] = ()) -> JsonObject:
        """`node`, found at field `at` inside the models `within`."""
        if "$ref" in node:
            name = node["$ref"].removeprefix(_DEFS)
            if name in within:
                raise RecursiveModel(at, [*within[within.index(name) :], name])
            own = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
            return self.schema(_merged(self._definitions[name], own), at, (*within, name))
        if "anyOf" in node:
            node = _int_or_string(node, at)
        found: JsonObject = {}
        for keyword, value in node.items():
            if keyword in _REJECTED:
                raise NotExpressible(at, _REJECTED[keyword])
            if keyword in self._keywords:
                found |= self._keywords[keyword](value, at, within)
            elif keyword in _CARRIED or keyword.startswith("x-kubernetes-"):
                found[keyword] = value
            else:
                raise NotExpressible(at, f"a structural schema has no keyword {keyword}")
        return in_order(_typed(found, at))

    def _properties(self, fields: JsonObject, at: str, within: tuple[str, ...]) -> JsonObject:
        return {
            "properties": {name: self.schema(field, f"{at}.{name}", within) for name, field in fields.items()}
        }

    def _map_values(self, values: JsonObject | bool, at: str, within: tuple[str, ...]) -> JsonObject:
        if values is False:
            # The API server prunes what a schema does not name; it cannot forbid it.
            return {}
        if values is True or not values:
            return OPEN
        return {"additionalProperties": self.schema(values, f"{at}.*", within)}

    def _items(self, item: JsonObject, at: str, within: tuple[str, ...]) -> JsonObject:
        return {"items": self.schema(item, f"{at}[]", within)}


def _merged(type_schema: JsonObject, field: JsonObject) -> JsonObject:
    """The schema of a type with the keywords of a field laid over it; the CEL rules of both apply."""
    rules = [*type_schema.get(RULES, []), *field.get(RULES, [])]
    return type_schema | field | ({RULES: rules} if rules else {})


def _int_or_string(union: JsonObject, at: str) -> JsonObject:
    """Kubernetes has one union. Its parts cannot be constrained, except with a CEL rule."""
    parts = union["anyOf"]
    if sorted(part.get("type", "") for part in parts) != ["integer", "string"]:
        raise NotExpressible(at, "only int | str is a possible union")
    narrowed = any(set(part) - {"type", "format", "title", "description"} for part in parts)
    if narrowed and RULES not in union:
        raise NotExpressible(at, "the parts of int | str cannot be narrowed; add a CEL rule that does it")
    return union | {"anyOf": [{"type": "integer"}, {"type": "string"}], INT_OR_STRING: True}


def _typed(found: JsonObject, at: str) -> JsonObject:
    """A schema with a type, int-or-string, or open to any value."""
    if "type" in found or INT_OR_STRING in found:
        return found
    if "enum" in found:
        raise NotExpressible(at, "the values of an enum must be of one type")
    return found | OPEN


def in_order(found: JsonObject) -> JsonObject:
    extensions = sorted(keyword for keyword in found if keyword not in _CARRIED)
    return {keyword: found[keyword] for keyword in (*_CARRIED, *extensions) if keyword in found}


def unwrapped(text: str) -> str:
    """The text of a docstring with one line per paragraph."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
