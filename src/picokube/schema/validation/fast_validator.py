"""A validator that takes microseconds, and skips unchanged items of long lists in updates.

The schema is translated to JSON Schema. What it accepts is valid in Kubernetes. What it rejects may still be valid,
which `value_checks` decides. Where the languages differ, the translation is stricter.
"""

import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

from picokube.schema.errors import SchemaRejected
from picokube.schema.formats import FORMATS
from picokube.schema.node import Node, Routes
from picokube.schema.patterns import translate_pattern

_SAFE: Final = 2**53 - 1
_NEVER: Final[dict[str, Any]] = {"not": {}}
_PATTERNS: Final = jsonschema_rs.RegexOptions(size_limit=10 * 2**20)
_CHECKS: Final = {f"kubernetes-{name}": check for name, check in FORMATS.items()}


def compile_fast_validator(node: Node) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(
            json_schema(node), formats=_CHECKS, validate_formats=True, pattern_options=_PATTERNS, offline=True
        )
    except (jsonschema_rs.ValidationError, ValueError, RecursionError) as error:
        raise SchemaRejected(f"the schema cannot be compiled: {error}") from error


def json_schema(node: Node) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if node.types:
        schema["type"] = [*node.types, "null"] if node.nullable else list(node.types)
    if node.enum:
        # Kubernetes never accepts null by enum, even if listed.
        schema["enum"] = [item for item in node.enum if item is not None]
    _text(node, schema)
    _numbers(node, schema)
    _containers(node, schema)
    for keyword, nodes in (("allOf", node.all_of), ("anyOf", node.any_of), ("oneOf", node.one_of)):
        if nodes:
            schema[keyword] = [json_schema(item) for item in nodes]
    if node.negated is not None:
        schema["not"] = json_schema(node.negated)
    if not all(_means_the_same(item) for item in (*node.one_of, *([node.negated] if node.negated else ()))):
        # Inside `not` and `oneOf`, a stricter sub-schema would accept more, so use the full validation.
        return _NEVER
    return schema


def _means_the_same(node: Node) -> bool:
    """Whether the translation of this node is exact."""
    bounds = [item for item in (node.minimum, node.maximum) if item is not None]
    return (
        not {"integer", "number"} & set(node.types)
        and node.multiple_of is None
        and all(bound == int(bound) for bound in bounds)
        and all(isinstance(item, str | bool) for item in node.enum or ())
        and not any(child.nullable or any(child.junctions()) for child in node.children())
        and all(_means_the_same(child) for child in (*node.children(), *node.junctions()))
    )


def _text(node: Node, schema: dict[str, Any]) -> None:
    format_ = node.format.replace("-", "")
    if format_ in FORMATS:
        schema["format"] = f"kubernetes-{format_}"
    if node.pattern:
        schema["pattern"] = translate_pattern(node.pattern)
    if node.min_length is not None:
        schema["minLength"] = max(node.min_length, 0)
    if node.max_length is not None:
        schema["maxLength"] = max(node.max_length, 0)


def _numbers(node: Node, schema: dict[str, Any]) -> None:
    low, high = node.minimum, node.maximum
    if "integer" in node.types:
        low = -_SAFE if low is None or low < -_SAFE else low
        high = _SAFE if high is None or high > _SAFE else high
    if low is not None:
        # Kubernetes truncates an exclusive bound when it compares it with an integer.
        schema.update({"exclusiveMinimum": math.ceil(low)} if node.exclusive_minimum else {"minimum": low})
    if high is not None:
        schema.update({"exclusiveMaximum": math.floor(high)} if node.exclusive_maximum else {"maximum": high})
    if node.multiple_of is not None:
        whole = node.multiple_of >= 1 and node.multiple_of == int(node.multiple_of)
        schema["multipleOf" if whole else "enum"] = int(node.multiple_of) if whole else []


def _containers(node: Node, schema: dict[str, Any]) -> None:
    if node.items is not None:
        schema["items"] = json_schema(node.items)
    if node.properties:
        schema["properties"] = {name: json_schema(item) for name, item in node.properties.items()}
    if node.forbids_additional:
        schema["additionalProperties"] = False
    elif node.additional is not None:
        schema["additionalProperties"] = json_schema(node.additional)
    if node.required:
        schema["required"] = sorted(set(node.required))
    bounds = {
        "minItems": node.min_items, "maxItems": node.max_items,
        "minProperties": node.min_properties, "maxProperties": node.max_properties,
    }  # fmt: skip
    schema.update({keyword: max(limit, 0) for keyword, limit in bounds.items() if limit is not None})


LONG: Final = 16
"""Minimum length of a list whose unchanged items are skipped."""
MAX_COUNT: Final = 32
"""Number of validated objects with long lists to remember."""


class PassedObjects:
    """The objects that passed last, by identity. Keeps references, because an id may be reused."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, Any] = OrderedDict()

    def add(self, obj: Any) -> None:
        self._held[id(obj)] = obj
        if len(self._held) > MAX_COUNT:
            self._held.popitem(last=False)

    def __contains__(self, obj: Any) -> bool:
        return id(obj) in self._held

    def replace(self, old: Any, new: Any) -> None:
        """Replace the old object of an update with the new one."""
        self._held.pop(id(old), None)
        self.add(new)


def list_routes(root: Node) -> Routes:
    """The routes, through properties only, to lists whose items are validated independently.

    Nothing may be skipped below a node with anyOf or similar keywords, or with an enum.
    """
    routes: dict[Node, tuple[tuple[str, Node], ...]] = {}

    def leads(node: Node) -> bool:
        if node.enum or any(node.junctions()):
            return False
        below = tuple((name, child) for name, child in node.properties.items() if leads(child))
        if below or (node.type == "array" and node.items is not None):
            routes[node] = below
            return True
        return False

    leads(root)
    return routes


def has_long_list(value: Any, node: Node, routes: Routes) -> bool:
    if type(value) is list:
        return len(value) >= LONG
    return type(value) is dict and any(
        has_long_list(value[name], child, routes) for name, child in routes[node] if name in value
    )


def without_passed_items(value: Any, old: Any, node: Node, routes: Routes) -> Any:
    """The value without the items of long lists that are in the same list of `old`, which passed."""
    if type(value) is list and type(old) is list:
        return _new_items(value, old, node)
    if type(value) is not dict or type(old) is not dict:
        return value
    shown: Mapping[str, Any] = value
    for name, child in routes[node]:
        if name in value and name in old:
            part = without_passed_items(value[name], old[name], child, routes)
            if part is not value[name]:
                shown = {**shown, name: part}
    return shown


def _new_items(value: list[Any], old: list[Any], node: Node) -> list[Any]:
    if len(value) < LONG or (node.max_items is not None and len(value) > node.max_items):
        return value
    known = set(map(id, old))
    new = [item for item in value if id(item) not in known]
    return value if node.min_items is not None and len(new) < node.min_items else new
