"""A schema in the words of JSON Schema, for a validator that says yes in microseconds.

What it lets pass is valid for Kubernetes too; what it stops may still be (value_checks decides). So wherever the
two languages differ it is written stricter, never looser.
"""

import math
from typing import Any, Final

import jsonschema_rs

from picokube.schema.errors import SchemaRejected
from picokube.schema.formats import FORMATS
from picokube.schema.node import Node
from picokube.schema.regex_syntax import spelled_out

_SAFE: Final = 2**53 - 1
_NEVER: Final[dict[str, Any]] = {"not": {}}
_PATTERNS: Final = jsonschema_rs.RegexOptions(size_limit=10 * 2**20)
_CHECKS: Final = {f"kubernetes-{name}": check for name, check in FORMATS.items()}


def gate_of(node: Node) -> jsonschema_rs.Draft202012Validator:
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
        # null is never a choice to Kubernetes, not even when it is listed.
        schema["enum"] = [each for each in node.enum if each is not None]
    _text(node, schema)
    _numbers(node, schema)
    _containers(node, schema)
    for keyword, nodes in (("allOf", node.all_of), ("anyOf", node.any_of), ("oneOf", node.one_of)):
        if nodes:
            schema[keyword] = [json_schema(each) for each in nodes]
    if node.negated is not None:
        schema["not"] = json_schema(node.negated)
    if not all(_means_the_same(each) for each in (*node.one_of, *([node.negated] if node.negated else ()))):
        # A stricter branch here would make a looser whole.
        return _NEVER
    return schema


def _means_the_same(node: Node) -> bool:
    """Whether the gate of this node stops exactly what Kubernetes stops."""
    bounds = [each for each in (node.minimum, node.maximum) if each is not None]
    return (
        not {"integer", "number"} & set(node.types)
        and node.multiple_of is None
        and all(each == int(each) for each in bounds)
        and all(isinstance(each, str | bool) for each in node.enum or ())
        and not any(each.nullable or any(each.junctions()) for each in node.children())
        and all(_means_the_same(each) for each in (*node.children(), *node.junctions()))
    )


def _text(node: Node, schema: dict[str, Any]) -> None:
    format_ = node.format.replace("-", "")
    if format_ in FORMATS:
        schema["format"] = f"kubernetes-{format_}"
    if node.pattern:
        schema["pattern"] = spelled_out(node.pattern)
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
        # An excluded bound loses its fraction when Kubernetes compares it with an integer.
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
        schema["properties"] = {name: json_schema(each) for name, each in node.properties.items()}
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
