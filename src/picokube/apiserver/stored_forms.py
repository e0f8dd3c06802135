"""Between what is stored and what a version of a custom kind shows: an object is stored in one version, by one schema.

What was stored under an older schema is pruned and completed again when it is read; an object newer than the schema
needs nothing. Reading writes nothing: the next writer stores what it read.
"""

from dataclasses import replace
from functools import lru_cache

import orjson

from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.responses import ordered
from picokube.apiserver.storage.store import Snapshot, Stored
from picokube.schema import CompiledSchema, admit

_HEAD = len('{"apiVersion":"')
_MOST = 16384


def current(resource: ResourceType, stored: Stored) -> Stored:
    """A stored object as the schema of its version means it now."""
    if stored.revision >= resource.schema_since:
        return stored
    version = stored.data[_HEAD : stored.data.index(b'"', _HEAD)].decode()
    schema = resource.compiled_versions.get(version)
    data = stored.data if schema is None else _admitted(schema, stored.data)
    return stored if data is stored.data else replace(stored, data=data)


def all_current(resource: ResourceType, snapshot: Snapshot) -> Snapshot:
    """All of them."""
    if not resource.schema_since:
        return snapshot
    return Snapshot(snapshot.revision, [current(resource, item) for item in snapshot.objects])


def as_stored(resource: ResourceType, obj: JsonObject) -> JsonObject:
    """An object as it is stored: without the fields that the stored version does not know. Metadata is shared."""
    version = f"{resource.group}/{resource.stored_version}"
    if not resource.is_custom and resource.stored_version not in ("", resource.version):
        stored_form: JsonObject = resource.strategy.stored_form(obj)  # type: ignore[attr-defined]
        return stored_form
    schema = resource.compiled_versions.get(version)
    if schema is None or version == resource.api_version:
        return obj
    admitted, _ = admit(schema, {**obj, "apiVersion": version})
    admitted["metadata"] = obj["metadata"]
    return admitted


@lru_cache(maxsize=_MOST)
def _admitted(schema: CompiledSchema, data: bytes) -> bytes:
    """Remembered, because a change of a schema makes all objects of a kind older than it at once."""
    obj = orjson.loads(data)
    admitted, _ = admit(schema, obj)
    admitted["metadata"] = obj["metadata"]
    found = orjson.dumps(ordered(admitted))
    return data if found == data else found
