"""Walking the schemas of kinds, for the rules that hold at every place of them."""

from collections.abc import Iterator
from functools import cache

from jangar.api.meta import JsonObject
from jangar.crdgen.crd import root_schema

schema_of = cache(root_schema)


def nodes(schema: JsonObject, at: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Every schema in `schema` with its path, itself first."""
    yield at, schema
    for name, node in schema.get("properties", {}).items():
        yield from nodes(node, f"{at}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{at}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{at}.*")
