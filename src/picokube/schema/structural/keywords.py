"""Validates the keywords and list types of a schema, with the messages of Kubernetes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from picokube.schema.cel.costs import capped
from picokube.schema.errors import FieldError, Path, forbidden, invalid, not_supported, required
from picokube.schema.node import UNSUPPORTED, Node, place
from picokube.schema.structural.rules import (
    RuleCost,
    rule_problems,
    rule_shape_problems,
    total_problems,
)

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


_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META: Final = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """The location of a schema and what is forbidden there."""

    at: Path = ()
    no_defaults: str | None = None
    inside_metadata: bool = False
    uncorrelatable_at: Path | None = None
    times: int | None = 1
    """The maximum number of values of an object at this location. None if unbounded."""

    def below(self, *steps: str | int) -> "Location":
        return replace(self, at=(*self.at, *steps))

    def field(self, *steps: str | int) -> str:
        at = (*self.at, *steps)
        return place(at) if at else ""


def keyword_problems(schema: _Schema, *, with_rules: bool) -> list[FieldError]:
    """The errors of a schema and its nested schemas, including rules if the schema is readable."""
    found = _problems(schema, Location(), with_rules=with_rules, root=True)
    return [*found.schemas, *found.rules, *total_problems(found.costs)]


@dataclass(slots=True)
class _Errors:
    schemas: list[FieldError] = field(default_factory=list)
    rules: list[FieldError] = field(default_factory=list)
    costs: list[RuleCost] = field(default_factory=list)


def _problems(schema: _Schema, where: Location, *, with_rules: bool, root: bool = False) -> _Errors:
    found = _Errors([*_plain(schema, where)])
    for inner, place_of_it, ruled in _inner(schema, where, root=root):
        more = _problems(inner, place_of_it, with_rules=with_rules and ruled)
        found.schemas += more.schemas
        found.rules += more.rules
        found.costs += more.costs
    found.schemas += _extensions(schema, where)
    found.schemas += list_problems(schema, where.at)
    found.schemas += rule_shape_problems(schema, where.at)
    if with_rules and schema.get("x-kubernetes-validations") and not found.schemas:
        node = Node.of(schema)
        rules, costs = rule_problems(
            node, where.at, where.uncorrelatable_at, root=root or node.embedded, times=where.times
        )
        found.rules += rules
        found.costs += costs
    return found


def _plain(schema: _Schema, where: Location) -> Iterator[FieldError]:
    kind, path = schema.get("type", ""), where.at
    if kind and kind not in _TYPES:
        yield not_supported(where.field("type"), kind, _TYPES, path=path)
    if schema.get("default") is not None and where.no_defaults is not None:
        detail = " ".join(item for item in ("must not be set", where.no_defaults) if item)
        yield forbidden(where.field("default"), detail, path=path)
    for keyword in UNSUPPORTED:
        if schema.get(keyword) or (
            keyword in {"dependencies", "additionalItems", "$ref"} and keyword in schema
        ):
            yield forbidden(where.field(keyword), f"{keyword} is not supported", path=path)
    if kind == "null":
        problem = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(where.field("type"), problem, path=path)
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield forbidden(where.field("items"), "items must be a schema object and not an array", path=path)
    if where.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        problem = "must not be used inside of resource meta"
        yield forbidden(where.field("x-kubernetes-embedded-resource"), problem, path=path)
    if schema.get("uniqueItems"):
        problem = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(where.field("uniqueItems"), problem, path=path)
    additional = schema.get("additionalProperties")
    if schema.get("properties") and (additional is False or isinstance(additional, dict)):
        problem = "additionalProperties and properties are mutual exclusive"
        yield forbidden(where.field("additionalProperties"), problem, path=path)


def _inner(schema: _Schema, where: Location, *, root: bool) -> Iterator[tuple[_Schema, Location, bool]]:
    """The nested schemas, their locations, and whether their rules are checked."""
    additional = schema.get("additionalProperties")
    times = _times(schema, where)
    below = where if times == where.times else replace(where, times=times)
    if isinstance(additional, dict):
        inside = below.below("additionalProperties")
        if where.inside_metadata:
            inside = replace(inside, no_defaults="inside additionalProperties applying to object metadata")
        yield additional, inside, True
    resource = root or bool(schema.get("x-kubernetes-embedded-resource"))
    for name, item in (schema.get("properties") or {}).items():
        inside = below.below("properties", name)
        if resource and name in _META:
            inside = replace(inside, inside_metadata=True)
            inside = replace(inside, no_defaults=f"in top-level {name}") if root else inside
        yield item, inside, True
    if schema.get("not") is not None:
        yield schema["not"], below.below("not"), False
    for keyword in ("allOf", "oneOf", "anyOf"):
        for n, item in enumerate(schema.get(keyword) or ()):
            yield item, below.below(keyword, n), False
    if isinstance(schema.get("items"), dict):
        inside = below.below("items")
        if schema.get("x-kubernetes-list-type") != "map" and inside.uncorrelatable_at is None:
            inside = replace(inside, uncorrelatable_at=where.at)
        yield schema["items"], inside, True


def _times(schema: _Schema, where: Location) -> int | None:
    """The maximum number of values of nested schemas in an object."""
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            most = schema.get("maxProperties")
        case "array":
            most = schema.get("maxItems")
        case _:
            most = 1
    return None if most is None or where.times is None else capped(where.times * max(most, 0))


def _extensions(schema: _Schema, where: Location) -> Iterator[FieldError]:
    kind, path = schema.get("type", ""), where.at
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        keyword = "x-kubernetes-preserve-unknown-fields"
        yield invalid(where.field(keyword), False, "must be true or undefined", path=path)
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None and kind != "object":
        problem = "must be object if x-kubernetes-map-type is specified"
        name = where.field("type")
        yield invalid(name, kind, problem, path=path) if kind else required(name, problem, path=path)
    if map_type is not None and map_type not in {"atomic", "granular"}:
        yield not_supported(where.field("x-kubernetes-map-type"), map_type, ("atomic", "granular"), path=path)
