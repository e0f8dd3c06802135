"""A custom kind to apply, and shortcuts that the tests of this folder share."""

from pathlib import Path
from typing import Any

import orjson

from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.apply.server_side import server_side_apply
from picokube.apiserver.kinds.resources import ResourceType

GOLDEN = Path(__file__).parent / "golden"
NOW, LATER = "2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"
TEXT = {"type": "string"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "name": TEXT,
                "labels": TEXTS,
                "selector": {**TEXTS, "x-kubernetes-map-type": "atomic"},
                "args": {"type": "array", "items": TEXT},
                "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                "steps": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": TEXT, "image": TEXT}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
            },
        },
        "status": {"type": "object", "properties": {"phase": TEXT}},
    },
}


def kind(schema: dict[str, Any] = SCHEMA, **more: Any) -> ResourceType:
    facts = {
        "group": "example.com",
        "version": "v1",
        "kind": "Thing",
        "plural": "things",
        "singular": "thing",
    }
    return ResourceType(
        **(facts | {"is_custom": True, "subresources": frozenset({"status"})} | more),
        strategy=None,  # type: ignore[arg-type]
        schema=schema,
    )


THING = kind()


def thing(spec: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a", "namespace": "ns", **meta},
    }
    return body if spec is None else body | {"spec": spec}


def applied(live, spec, manager="one", *, force=False, now=NOW, **meta):
    config = thing(spec, **meta)
    return server_side_apply(THING, live, config, manager=manager, force=force, subresource="", now=now)


def updated(old, new, manager="one", *, subresource="", now=NOW):
    """The object as it is stored after a write."""
    entries = managed_after_write(THING, old, new, manager=manager, subresource=subresource, now=now)
    meta = {name: item for name, item in new["metadata"].items() if name != "managedFields"}
    return {**new, "metadata": meta | {"uid": "u"} | ({"managedFields": entries} if entries else {})}


def owners(obj):
    """Manager and operation -> fields."""
    entries = obj["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def golden(name: str) -> dict[str, Any]:
    return orjson.loads((GOLDEN / name).read_bytes())
