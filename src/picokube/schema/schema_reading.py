"""Whether a server can convert a schema to a structural schema.

If a schema uses unsupported keywords, a server reports only these and skips the structural checks.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from picokube.schema.errors import Path
from picokube.schema.pruning import UnknownField

UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_NESTED: Final = ("items", "additionalProperties", "not")
_KNOWN: Final = frozenset(
    {
        "id", "$schema", "$ref", "description", "type", "nullable", "format", "title", "default", "maximum",
        "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
        "uniqueItems", "multipleOf", "enum", "maxProperties", "minProperties", "required", "items", "allOf", "oneOf",
        "anyOf", "not", "properties", "additionalProperties", "patternProperties", "dependencies", "additionalItems",
        "definitions", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-validations",
    }
)  # fmt: skip


def is_readable(schema: Mapping[str, Any]) -> bool:
    """Whether neither the schema nor a nested schema uses unsupported keywords."""
    if any(schema.get(keyword) is not None for keyword in UNSUPPORTED):
        return False
    if isinstance(schema.get("items"), list) or schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return all(is_readable(item) for item, _ in _inner(schema))


def unknown_keywords(schema: Mapping[str, Any], at: Path = ()) -> list[UnknownField]:
    """Keywords such as const, examples and $defs, which a server drops, or rejects in strict mode."""
    found = [UnknownField(path=(*at, keyword)) for keyword in schema if keyword not in _KNOWN]
    for inner, steps in _inner(schema):
        found += unknown_keywords(inner, (*at, *steps))
    return found


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Path]]:
    for name, item in (schema.get("properties") or {}).items():
        yield item, ("properties", name)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for n, item in enumerate(schema.get(keyword) or ()):
            yield item, (keyword, n)
    for keyword in _NESTED:
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword], (keyword,)
