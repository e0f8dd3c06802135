"""Whether a server can read a schema as a structure at all. Knows schemas as JSON; judges nothing else.

Keywords it has no place for make it give up on the structure: it then names those keywords and is silent on the rest.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_NESTED: Final = ("items", "additionalProperties", "not")


def is_readable(schema: Mapping[str, Any]) -> bool:
    """Whether neither this schema nor one inside it uses a keyword that leaves the structure unread."""
    if any(schema.get(keyword) is not None for keyword in UNSUPPORTED):
        return False
    if isinstance(schema.get("items"), list) or schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return all(is_readable(each) for each in _inner(schema))


def _inner(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (schema.get("properties") or {}).values()
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword) or ()
    for keyword in _NESTED:
        if isinstance(schema.get(keyword), dict):
            yield schema[keyword]
