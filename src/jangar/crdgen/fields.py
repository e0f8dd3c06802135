"""The fields of a type as rows that people read. Knows schemas and models; knows no page and no kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from pydantic import BaseModel

from jangar.api.meta import JsonObject
from jangar.crdgen.structural import INT_OR_STRING, RULES

_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_BOUNDS: Final = (
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "items"),
    ("minProperties", "maxProperties", "keys"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One field: `path` is dotted, with `[]` for each item of a list and `.*` for each value of a map.

    `like` tells where the fields of an object are listed when they do not follow.
    """

    path: str
    type: str
    like: str
    required: bool
    constraints: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedModels:
    """Which models need no rows any more, and where to find them: `elsewhere` as a link, `here` as a path."""

    elsewhere: Mapping[type[BaseModel], str] = field(default_factory=dict)
    here: dict[type[BaseModel], str] = field(default_factory=dict)


def rows(model: type[BaseModel], schema: JsonObject, at: str, reported: ListedModels) -> Iterator[Row]:
    """A row for each field of `model` and, once, of each model in it; `reported` records what was listed."""
    required = schema.get("required", ())
    for name, info in model.model_fields.items():
        key = info.alias or name
        node = schema["properties"][key]
        inner = _model_in(info.annotation)
        like = "" if inner is None else reported.elsewhere.get(inner) or reported.here.get(inner, "")
        path = f"{at}.{key}"
        yield Row(
            path=path,
            type=type_of(node),
            like=like,
            required=key in required,
            constraints=tuple(constraints(node)),
            description=node.get("description", ""),
        )
        if inner is not None and not like:
            below, inside = _innermost(node, path)
            reported.here[inner] = inside
            yield from rows(inner, below, inside, reported)


def rules(schema: JsonObject, at: str) -> Iterator[tuple[str, str]]:
    """Path and message of every CEL rule in `schema`; a message that several rules share comes once."""
    yield from dict.fromkeys((at, item["message"]) for item in schema.get(RULES, ()))
    for name, node in schema.get("properties", {}).items():
        yield from rules(node, f"{at}.{name}")
    if "items" in schema:
        yield from rules(schema["items"], f"{at}[]")
    if "additionalProperties" in schema:
        yield from rules(schema["additionalProperties"], f"{at}.*")


def type_of(node: JsonObject) -> str:
    """The type in words: `list of string`, `integer or string`, `date-time`."""
    if INT_OR_STRING in node:
        return "integer or string"
    match node.get("type"):
        case "array":
            return f"list of {type_of(node['items'])}"
        case "object" if "additionalProperties" in node:
            return f"map of {type_of(node['additionalProperties'])}"
        case "object" if _OPEN in node and "properties" not in node:
            return "any object"
        case "string" if "format" in node:
            return str(node["format"])
        case None:
            return "any value"
        case name:
            return str(name)


def constraints(node: JsonObject) -> Iterator[str]:
    """What a value must satisfy besides its type, in words; for a list also what its items must."""
    if "enum" in node:
        yield "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    yield from _range(node)
    for least, most, unit in _BOUNDS:
        yield from _bounds(node.get(least), node.get(most), unit)
    if "pattern" in node:
        yield f"matches `{node['pattern']}`"
    if "default" in node:
        yield f"default `{node['default']}`"
    if keys := node.get("x-kubernetes-list-map-keys"):
        yield "unique " + " and ".join(f"`{key}`" for key in keys)
    if node.get("x-kubernetes-list-type") == "set":
        yield "no duplicates"
    if _OPEN in node and "properties" in node:
        yield "other fields are kept"
    for inner in (node.get("items"), node.get("additionalProperties")):
        if inner is not None and inner.get("type") not in {"object", "array"}:
            yield from (f"each {text}" for text in constraints(inner))


def _range(node: JsonObject) -> Iterator[str]:
    if "minimum" in node:
        yield f"{'>' if node.get('exclusiveMinimum') else '>='} {node['minimum']}"
    if "maximum" in node:
        yield f"{'<' if node.get('exclusiveMaximum') else '<='} {node['maximum']}"


def _bounds(least: int | None, most: int | None, unit: str) -> Iterator[str]:
    match least, most:
        case None | 0, None:
            return
        case None | 0, int():
            yield f"at most {most:,} {unit}"
        case 1, None:
            yield "not empty"
        case int(), None:
            yield f"at least {least:,} {unit}"
        case _:
            yield f"{least:,} to {most:,} {unit}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation such as `list[Step] | None` is about."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)


def _innermost(node: JsonObject, path: str) -> tuple[JsonObject, str]:
    """The object inside lists and maps, and the path that says so."""
    if "items" in node:
        return _innermost(node["items"], f"{path}[]")
    if "additionalProperties" in node:
        return _innermost(node["additionalProperties"], f"{path}.*")
    return node, path
