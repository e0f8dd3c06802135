"""Validates list types set and map in a schema, with the messages of Kubernetes."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from picokube.schema.errors import FieldError, Path, forbidden, invalid, not_supported, required
from picokube.schema.node import place

_LIST: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_Schema = Mapping[str, Any]


def list_problems(schema: _Schema, at: Path) -> Iterator[FieldError]:
    """The errors of the list type of a schema."""
    kind, list_type = schema.get("type", ""), schema.get(_LIST)
    items = schema["items"] if isinstance(schema.get("items"), dict) else None
    if list_type is not None and kind != "array":
        problem, name = f"must be array if {_LIST} is specified", place((*at, "type"))
        yield invalid(name, kind, problem, path=at) if kind else required(name, problem, path=at)
    elif list_type == "set" and items is not None:
        yield from _set_items(items, at)
    if list_type is not None and list_type not in {"atomic", "set", "map"}:
        yield not_supported(place((*at, _LIST)), list_type, ("atomic", "set", "map"), path=at)
    if schema.get(_KEYS) and list_type != "map":
        problem, name = f"must be map if {_KEYS} is non-empty", place((*at, _LIST))
        yield (
            required(name, problem, path=at)
            if list_type is None
            else invalid(name, list_type, problem, path=at)
        )
    if list_type == "map":
        yield from _map_keys(schema, items, at)
    if list_type in {"set", "map"} and items is not None:
        yield from _item_problems(schema, items, at)


def _set_items(items: _Schema, at: Path) -> Iterator[FieldError]:
    problem = f"must be atomic as item of a list with {_LIST}=set"
    inner = items.get(_LIST)
    if items.get("type") == "array" and inner not in {None, "atomic"}:
        yield invalid(place((*at, "items", _LIST)), inner, problem, path=at)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(place((*at, "items", "x-kubernetes-map-type")), inner, problem, path=at)


def _map_keys(schema: _Schema, items: _Schema | None, at: Path) -> Iterator[FieldError]:
    keys = schema.get(_KEYS) or []
    if not keys:
        yield required(place((*at, _KEYS)), f"must not be empty if {_LIST} is map", path=at)
    if schema.get("items") is None:
        yield required(place((*at, "items")), f"must have a schema if {_LIST} is map", path=at)
    if items is None:
        return
    if items.get("type") != "object":
        problem = f"must be object if parent array's {_LIST} is map"
        yield invalid(place((*at, "items", "type")), items.get("type", ""), problem, path=at)
        return
    properties = items.get("properties") or {}
    for n, key in enumerate(keys):
        if key not in properties:
            problem = "entries must all be names of item properties"
            yield invalid(place((*at, _KEYS)), keys, problem, path=at)
        elif properties[key].get("type") in {"array", "object"}:
            problem = f"must be a scalar type if parent array's {_LIST} is map"
            yield invalid(place((*at, "items", "properties", key, "type")), "object", problem, path=at)
        if key in keys[:n]:
            yield invalid(place((*at, _KEYS)), keys, "must not contain duplicate entries", path=at)


def _item_problems(schema: _Schema, items: _Schema, at: Path) -> Iterator[FieldError]:
    if items.get("nullable"):
        problem = f"cannot be nullable when {_LIST} is {schema[_LIST]}"
        yield forbidden(place((*at, "items", "nullable")), problem, path=at)
    if schema[_LIST] != "map":
        return
    properties = items.get("properties") or {}
    for key in schema.get(_KEYS) or ():
        if key not in properties:
            continue
        inside = (*at, "items", "properties", key)
        if key not in (items.get("required") or ()) and properties[key].get("default") is None:
            problem = f"this property is in {_KEYS}, so it must have a default or be a required property"
            yield required(place((*inside, "default")), problem, path=inside)
        if properties[key].get("nullable"):
            problem = f"this property is in {_KEYS}, so it cannot be nullable"
            yield forbidden(place((*inside, "nullable")), problem, path=inside)
