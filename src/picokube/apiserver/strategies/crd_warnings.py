"""What the author of a CustomResourceDefinition is warned of: formats of texts that nobody checks. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from picokube.apiserver.strategies.checks import Json
from picokube.schema.formats import checked_format

_ONE: Final = ("items", "not", "additionalProperties", "additionalItems")
_SOME: Final = ("allOf", "anyOf", "oneOf")
_NAMED: Final = ("properties", "patternProperties", "definitions")


def format_warnings(definition: Json, old: Json | None) -> list[str]:
    """A word for each format that is new and unknown."""
    if old is not None and old["spec"] == definition["spec"]:
        return []
    known = _unknown_formats(old) if old is not None else set()
    return [
        f'unrecognized format "{unknown_format}"'
        for unknown_format in sorted(_unknown_formats(definition) - known)
    ]


def _unknown_formats(definition: Json) -> set[str]:
    return {
        schema["format"]
        for version in definition["spec"].get("versions") or ()
        for schema in _schemas((version.get("schema") or {}).get("openAPIV3Schema"))
        if schema.get("type") == "string" and schema.get("format") and not checked_format(schema["format"])
    }


def _schemas(schema: Any) -> Iterator[Json]:
    """A schema and all below it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name in _ONE:
        yield from _schemas(schema.get(name))
    for name in _SOME:
        for item in schema.get(name) or ():
            yield from _schemas(item)
    for name in _NAMED:
        for item in (schema.get(name) or {}).values():
            yield from _schemas(item)
