"""Converts between stored objects and the version of a kind that a client asks for.

An object is stored in one version, by one schema. What was stored under an older schema is pruned and defaulted again
when it is read. Reading writes nothing: the next writer stores what it read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol.messages import JsonObject
from picokube.apiserver.storage.store import Snapshot, Stored
from picokube.schema import CompiledSchema, admit
from picokube.schema.pruning import prune

_VERSION_AT = len('{"apiVersion":"')
_MAX_CACHED = 16384
_LEADING_FIELDS = ("apiVersion", "kind", "metadata")


def upgraded(resource: ResourceType, stored: Stored) -> Stored:
    """A stored object as the schema of its version means it now."""
    if stored.revision >= resource.schema_since:
        return stored
    version = stored.data[_VERSION_AT : stored.data.index(b'"', _VERSION_AT)].decode()
    schema = resource.compiled_versions.get(version)
    data = stored.data if schema is None else _admitted(schema, stored.data)
    return stored if data is stored.data else replace(stored, data=data)


def upgraded_snapshot(resource: ResourceType, snapshot: Snapshot) -> Snapshot:
    """All of them."""
    if not resource.schema_since:
        return snapshot
    return Snapshot(snapshot.revision, [upgraded(resource, item) for item in snapshot.objects])


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


@lru_cache(maxsize=_MAX_CACHED)
def _admitted(schema: CompiledSchema, data: bytes) -> bytes:
    """Remembered, because a change of a schema makes all objects of a kind older than it at once."""
    obj = orjson.loads(data)
    admitted, _ = admit(schema, obj)
    admitted["metadata"] = obj["metadata"]
    found = orjson.dumps(ordered(admitted))
    return data if found == data else found


def ordered(obj: JsonObject) -> JsonObject:
    """Type and metadata first: stored bytes begin alike, so that lists are spliced without parsing."""
    return {name: obj[name] for name in _LEADING_FIELDS if name in obj} | obj


def in_version(resource: ResourceType, data: bytes) -> bytes:
    """Stored bytes in the version of the request: with conversion None only apiVersion differs."""
    prefix = type_prefix(resource)
    if data.startswith(prefix):
        return data
    return orjson.dumps(object_in_version(resource, orjson.loads(data)))


def object_in_version(resource: ResourceType, obj: JsonObject) -> JsonObject:
    """The same for an object. A kind whose versions differ in field names converts itself (Event)."""
    if (obj.get("apiVersion"), obj.get("kind")) == (resource.api_version, resource.kind):
        return obj
    typed = {"apiVersion": resource.api_version, "kind": resource.kind} | {
        name: value for name, value in obj.items() if name not in ("apiVersion", "kind")
    }
    if resource.compiled is not None:
        # Fields that this version does not know are not shown; its defaults are for writers.
        return prune(typed, resource.compiled.root).kept
    converted = getattr(resource.strategy, "converted", None)
    found: JsonObject = converted(typed) if converted is not None else typed
    return found


def type_prefix(resource: ResourceType) -> bytes:
    return _prefix(resource.api_version, resource.kind)


@lru_cache(maxsize=1024)
def _prefix(api_version: str, kind: str) -> bytes:
    """The first bytes of stored objects of a kind, cached: needed for every object that is returned."""
    return f'{{"apiVersion":"{api_version}","kind":"{kind}",'.encode()


INTEGERS_BELOW = 2.0**63
"""From here on a number is no integer to Go, however it is written."""
_WHOLE_FLOAT: Final = re.compile(rb"\.0[,}\]]")


def whole_floats_to_integers(obj: dict[str, Any], old: Mapping[str, Any] | None = None) -> None:
    """In place, all but metadata, which holds no floats, and what is shared with `old`, which has none.

    Most objects have none, which a search in their JSON shows.
    """
    known = old or {}
    new = {name: value for name, value in obj.items() if name != "metadata" and value is not known.get(name)}
    if _WHOLE_FLOAT.search(orjson.dumps(list(_changed(new, known)))) is None:
        return
    for name, value in new.items():
        obj[name] = _to_integers(value)


def _changed(new: Any, old: Any) -> Iterator[Any]:
    """The parts that are not identical: members, and items of lists."""
    if type(new) is dict and type(old) is dict:
        for name, value in new.items():
            if value is not old.get(name):
                yield from _changed(value, old.get(name))
    elif type(new) is list and type(old) is list:
        known = set(map(id, old))
        yield from (item for item in new if id(item) not in known)
    else:
        yield new


def _to_integers(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        for name, item in value.items():
            inner = type(item)
            if inner is dict or inner is list or inner is float:
                value[name] = _to_integers(item)
    elif kind is list:
        for index, item in enumerate(value):
            inner = type(item)
            if inner is dict or inner is list or inner is float:
                value[index] = _to_integers(item)
    elif kind is float and value.is_integer() and abs(value) < INTEGERS_BELOW:
        return int(value)
    return value
