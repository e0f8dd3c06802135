"""How objects are shown: whole, their metadata alone, or as rows of a Table; one object, a list, or an event.

Chosen by the Accept header. Stored bytes are spliced, not parsed, wherever objects are shown whole.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from jangar.apiserver import errors
from jangar.apiserver.messages import Request
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.apiserver.tables import table_columns, table_row

JSON = "application/json"


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
    """apiVersion meta.k8s.io/v1, kind PartialObjectMetadata."""

    content_type = JSON

    def one(self, resource: ResourceType, data: bytes) -> bytes:
        del resource
        return orjson.dumps(partial_metadata(orjson.loads(data)))

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes:
        del resource
        shown = [partial_metadata(orjson.loads(item)) for item in items]
        document = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "items": shown,
        }
        return orjson.dumps(document) + b"\n"

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        del first
        return self.one(resource, data)


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
        rows = [{"cells": table_row(resource, obj), "object": self._included(obj)} for obj in objects]
        document: dict[str, Any] = {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
            "columnDefinitions": table_columns(resource) if columns else None,
            "rows": rows,
        }
        return orjson.dumps(document)

    def _included(self, obj: JsonObject) -> JsonObject | None:
        if self._include == "None":
            return None
        return obj if self._include == "Object" else partial_metadata(obj)


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
    obj = {"apiVersion": resource.api_version, "kind": resource.kind} | _untyped(orjson.loads(data))
    return orjson.dumps(resource.strategy.decode(obj)[0])


def _untyped(obj: JsonObject) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}


def _type_prefix(resource: ResourceType) -> bytes:
    return f'{{"apiVersion":"{resource.api_version}","kind":"{resource.kind}",'.encode()


def chosen(request: Request) -> Representation:
    """The first form in the Accept header that this server has."""
    accept = request.headers.get("accept", "")
    for part in accept.split(",") if accept else ["*/*"]:
        media, *parameters = [piece.strip() for piece in part.split(";")]
        options = dict(piece.partition("=")[::2] for piece in parameters)
        found = _representation(media.lower(), options, request)
        if found is not None:
            return found
    raise errors.not_acceptable([JSON, "application/yaml", "application/vnd.kubernetes.protobuf"])


def _representation(media: str, options: dict[str, str], request: Request) -> Representation | None:
    if media not in (JSON, "application/*", "*/*"):
        return None
    shape = options.get("as")
    if shape is None:
        return Whole()
    if options.get("g") != "meta.k8s.io" or options.get("v") != "v1":
        return None
    match shape:
        case "Table":
            return AsTable(request.parameter("includeObject") or "Metadata")
        case "PartialObjectMetadata" | "PartialObjectMetadataList":
            return MetadataOnly()
        case _:
            return None
