"""Generated facts about built-in kinds (data/): names, columns and schemas. Read on first use."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import orjson

from picokube.apiserver.protocol.messages import JsonObject


@cache
def kinds() -> dict[str, JsonObject]:
    """By `group/version/plural`."""
    return _read("kinds.json")


@cache
def _definitions() -> dict[str, JsonObject]:
    return _read("definitions.json")


def _read(name: str) -> dict[str, JsonObject]:
    data = resources.files("picokube.apiserver") / "data" / name
    found: dict[str, JsonObject] = orjson.loads(data.read_bytes())
    return found


def referring_definition(name: str) -> JsonObject:
    """A schema as it is published: `$ref` names another definition. Never change it."""
    return _definitions()[name]


@cache
def definition(name: str) -> JsonObject:
    """A schema without references. Parts that occur often are one and the same value: never change them."""
    found: JsonObject = _expanded(_definitions()[name], (name,))
    return found


@cache
def _part(name: str, inside: tuple[str, ...]) -> JsonObject:
    found: JsonObject = _expanded(_definitions()[name], (*inside, name))
    return found


def _expanded(schema: Any, inside: tuple[str, ...]) -> Any:
    """`inside` are definitions being expanded: one that holds itself ends in an open object."""
    if isinstance(schema, list):
        return [_expanded(item, inside) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref")
    if not isinstance(name, str):
        return {key: _expanded(item, inside) for key, item in schema.items()}
    siblings = {key: item for key, item in schema.items() if key != "$ref"}
    if name in inside:
        return _open(name) | siblings
    cycle = tuple(item for item in inside if item in _recursive())
    return _part(name, cycle) | siblings


@cache
def _recursive() -> frozenset[str]:
    """Definitions that hold themselves."""
    return frozenset(name for name in _definitions() if "JSONSchemaProps" in name)


def _open(name: str) -> JsonObject:
    return {
        "description": str(_definitions()[name].get("description", "")),
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


class LazySchema(Mapping[str, Any]):
    """A schema that is assembled on first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: str) -> Any:
        return definition(self._name)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(definition(self._name))

    def __len__(self) -> int:
        return len(definition(self._name))


@cache
def lazy_schema(name: str) -> LazySchema:
    """The schema, shared by all servers of a process: compiled forms are cached by identity."""
    return LazySchema(name)
