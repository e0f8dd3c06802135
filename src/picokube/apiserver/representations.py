"""How objects are shown: whole, their metadata alone, or as rows of a Table; one object, a list, or an event.

Chosen by the Accept header. Stored bytes are spliced, not parsed, wherever objects are shown whole.
"""

from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

import orjson

from picokube.apiserver import errors
from picokube.apiserver.content_negotiation import JSON, MEDIA_TYPES, YAML, asked_form
from picokube.apiserver.messages import Request
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.tables import table_columns, table_conditions, table_row
from picokube.apiserver.yaml_text import as_yaml
from picokube.schema.go_text import go_quote
from picokube.schema.pruning import prune


class Representation(Protocol):
    """One way to show objects of a kind."""

    @property
    def content_type(self) -> str: ...

    def one(self, resource: ResourceType, data: bytes) -> bytes: ...

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes: ...

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        """The object of a watch event; `first` on its stream."""
        ...


class Whole:
    """The object as it is stored, in the version that was asked for."""

    content_type = JSON

    def one(self, resource: ResourceType, data: bytes) -> bytes:
        return in_version(resource, data)

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes:
        head = orjson.dumps(
            {"apiVersion": resource.api_version, "kind": list_kind(resource), "metadata": meta}
        )
        shown = [in_version(resource, item) for item in items]
        if not resource.is_custom:
            prefix = _type_prefix(resource)
            shown = [b"{" + item[len(prefix) :] if item.startswith(prefix) else item for item in shown]
        return head[:-1] + b',"items":[' + b",".join(shown) + b"]}\n"

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        del first
        return in_version(resource, data)


class MetadataOnly:
    """apiVersion meta.k8s.io/v1, kind PartialObjectMetadata; a list of them has its own kind, which is asked for."""

    content_type = JSON

    def __init__(self, *, is_list: bool = False) -> None:
        self._is_list = is_list

    def one(self, resource: ResourceType, data: bytes) -> bytes:
        if self._is_list:
            raise _not_a_list(resource)
        return orjson.dumps(partial_metadata(orjson.loads(data)))

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes:
        if not self._is_list:
            raise _is_a_list(resource)
        document = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": _without_empty(meta),
            "items": [partial_metadata(orjson.loads(item)) for item in items],
        }
        return orjson.dumps(document) + b"\n"

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        del resource, first
        return orjson.dumps(partial_metadata(orjson.loads(data)))


class AsTable:
    """meta.k8s.io/v1 Table; rows carry metadata, the whole object or nothing, as asked by includeObject."""

    content_type = JSON

    def __init__(self, include: str) -> None:
        self._include = include

    def one(self, resource: ResourceType, data: bytes) -> bytes:
        obj = orjson.loads(data)
        meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return self._table(resource, [obj], meta, columns=True)

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes:
        return self._table(resource, [orjson.loads(item) for item in items], meta, columns=True) + b"\n"

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        obj = orjson.loads(data)
        meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return self._table(resource, [obj], meta, columns=first)

    def _table(
        self, resource: ResourceType, objects: list[JsonObject], meta: JsonObject, *, columns: bool
    ) -> bytes:
        rows = [
            {"cells": table_row(resource, obj)}
            | table_conditions(resource, obj)
            | {"object": self._included(obj)}
            for obj in objects
        ]
        document: dict[str, Any] = {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": _without_empty(meta),
            "columnDefinitions": table_columns(resource) if columns else None,
            "rows": rows,
        }
        return orjson.dumps(document)

    def _included(self, obj: JsonObject) -> JsonObject | None:
        if self._include == "None":
            return None
        return obj if self._include == "Object" else partial_metadata(obj)


class InYaml:
    """Another representation, written as YAML."""

    content_type = YAML

    def __init__(self, inner: Representation) -> None:
        self._inner = inner

    def one(self, resource: ResourceType, data: bytes) -> bytes:
        return as_yaml(self._inner.one(resource, data)).removesuffix(b"\n")

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes:
        return as_yaml(self._inner.many(resource, items, meta))

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        """Watches are JSON; who asks for another form of them is refused before they begin."""
        return self._inner.event(resource, data, first=first)


def _without_empty(meta: JsonObject) -> JsonObject:
    """Metadata of a list of a type that leaves an empty token out."""
    return meta if meta.get("continue") != "" else {key: meta[key] for key in meta if key != "continue"}


def _is_a_list(resource: ResourceType) -> errors.ApiError:
    kind = f"{_go_type(resource)}List"
    message = f"you requested PartialObjectMetadata, but the requested object is a list ({kind})"
    return errors.ApiError(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message)


def _not_a_list(resource: ResourceType) -> errors.ApiError:
    if resource.is_custom:
        return errors.internal("content is not a list")
    kind = _go_type(resource)
    message = f"you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
    return errors.ApiError(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message)


def _go_type(resource: ResourceType) -> str:
    """The type of an object inside a real server."""
    if resource.is_custom:
        return "*unstructured.Unstructured"
    group = resource.stored_as.partition(".")[2] if resource.stored_as else resource.group
    return f"*{group.partition('.')[0] or 'core'}.{resource.kind}"


def partial_metadata(obj: JsonObject) -> JsonObject:
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj.get("metadata", {}),
    }


def list_kind(resource: ResourceType) -> str:
    return resource.list_kind or f"{resource.kind}List"


def in_version(resource: ResourceType, data: bytes) -> bytes:
    """Stored bytes in the version of the request: with conversion None only apiVersion differs."""
    prefix = _type_prefix(resource)
    if data.startswith(prefix):
        return data
    return orjson.dumps(object_in_version(resource, orjson.loads(data)))


def object_in_version(resource: ResourceType, obj: JsonObject) -> JsonObject:
    """The same for an object. A kind whose versions name their fields otherwise converts itself (Event)."""
    if (obj.get("apiVersion"), obj.get("kind")) == (resource.api_version, resource.kind):
        return obj
    typed = {"apiVersion": resource.api_version, "kind": resource.kind} | _untyped(obj)
    if resource.compiled is not None:
        # Fields that this version does not know are not shown; its defaults are for writers.
        return prune(typed, resource.compiled.root).kept
    converted = getattr(resource.strategy, "converted", None)
    found: JsonObject = converted(typed) if converted is not None else typed
    return found


def _untyped(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}


def _type_prefix(resource: ResourceType) -> bytes:
    return _prefix(resource.api_version, resource.kind)


@lru_cache(maxsize=1024)
def _prefix(api_version: str, kind: str) -> bytes:
    """How the stored bytes of a kind begin; asked for with every object that is shown."""
    return f'{{"apiVersion":"{api_version}","kind":"{kind}",'.encode()


def chosen(request: Request) -> Representation:
    """The first form in the Accept header that this server has."""
    form = asked_form(request.headers.get("accept", ""))
    if form is None:
        raise errors.not_acceptable(MEDIA_TYPES)
    shown = _shape(form.shape, request)
    return InYaml(shown) if form.media == YAML else shown


def _shape(shape: str, request: Request) -> Representation:
    match shape:
        case "Table":
            return AsTable(_included_objects(request))
        case "PartialObjectMetadata" | "PartialObjectMetadataList":
            return MetadataOnly(is_list=shape.endswith("List"))
        case _:
            return Whole()


def _included_objects(request: Request) -> str:
    include = request.parameter("includeObject") or "Metadata"
    if include not in ("Metadata", "Object", "None"):
        raise errors.bad_request(
            f"Unable to convert to Table as requested: includeObject: Invalid value: {go_quote(include)}: must be "
            "'Metadata', 'Object', 'None', or empty"
        )
    return include
