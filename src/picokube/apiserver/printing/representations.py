"""How objects are returned: whole, their metadata alone, or as rows of a Table; as JSON or YAML, with warnings.

The Accept header decides. Stored bytes are spliced, not parsed, wherever objects are returned whole.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Protocol

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import in_version, ordered, type_prefix
from picokube.apiserver.printing.tables import table_columns, table_conditions, table_row
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import as_yaml
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import Answer, JsonObject, Request, Response
from picokube.schema.go_text import go_quote

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
"""What a real server has. Protobuf is read here but never written: clients that want it accept JSON, too."""
STREAM_TYPES = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
SHAPES = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})
VERSION = "/version"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_INDENTED_AGENTS = ("curl", "Wget", "Mozilla/5.0")
_ANY = frozenset({"*/*", "application/*"})


class Form(NamedTuple):
    media: str
    shape: str = ""
    """Empty: objects as they are."""


@lru_cache(maxsize=256)
def accepted_form(accept: str) -> Form | None:
    """The first form in an Accept header that there is."""
    for part in accept.split(",") if accept else ["*/*"]:
        media, *parameters = [piece.strip() for piece in part.split(";")]
        options = dict(piece.partition("=")[::2] for piece in parameters)
        media = JSON if media.lower() in _ANY else media.lower()
        if media in (JSON, YAML) and _has_shape(options):
            return Form(media, options.get("as", ""))
    return None


def _has_shape(options: dict[str, str]) -> bool:
    if "as" not in options:
        return True
    return options["as"] in SHAPES and options.get("g") == "meta.k8s.io" and options.get("v") == "v1"


def check_acceptable(request: Request, resource: ResourceType, verb: str) -> None:
    """Refuse what cannot be answered as its sender wants, before anything is done."""
    accept = request.headers.get("accept", "")
    if not accept or accept in (JSON, "*/*"):
        return
    if not resource.is_custom:
        _check_route(accept, verb)
    form = accepted_form(accept)
    if form is None:
        raise errors.not_acceptable(MEDIA_TYPES)
    if verb == "watch" and form.media != JSON:
        raise errors.not_acceptable(STREAM_TYPES)


def _check_route(accept: str, verb: str) -> None:
    """Built-in kinds have routes, which are found by media type first."""
    produced = (*MEDIA_TYPES, *STREAM_TYPES) if verb in ("list", "watch") else MEDIA_TYPES
    if {"*/*", *produced} & {part.partition(";")[0].strip() for part in accept.split(",")}:
        return
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    raise errors.ApiError(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message, details={})


def wants_indentation(request: Request) -> bool:
    """Whether a client wants indented JSON: by parameter, else browsers, curl and Wget."""
    if request.path.rstrip("/") == VERSION:
        return True
    if stated := request.parameter("pretty"):
        return stated in _TRUE
    return request.headers.get("user-agent", "").startswith(_INDENTED_AGENTS)


def indented(request: Request, answer: Answer) -> Answer:
    """JSON answers of one piece; documents of OpenAPI are for machines."""
    if not isinstance(answer, Response) or not answer.content_type.startswith(JSON):
        return answer
    if not answer.body or request.path.startswith("/openapi"):
        return answer
    return replace(answer, body=orjson.dumps(orjson.loads(answer.body), option=orjson.OPT_INDENT_2))


def in_accepted_form(request: Request, response: Response) -> Response:
    """A document that is JSON unless its reader prefers YAML: refusals, discovery."""
    form = accepted_form(request.headers.get("accept", ""))
    if form is None or form.media != YAML or response.content_type != JSON or not response.body:
        return response
    return replace(response, body=as_yaml(response.body), content_type=YAML)


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
    """The whole object in the requested version."""

    content_type = JSON

    def one(self, resource: ResourceType, data: bytes) -> bytes:
        return in_version(resource, data)

    def many(self, resource: ResourceType, items: Sequence[bytes], meta: JsonObject) -> bytes:
        head = orjson.dumps(
            {"apiVersion": resource.api_version, "kind": list_kind(resource), "metadata": meta}
        )
        shown = [in_version(resource, item) for item in items]
        if not resource.is_custom:
            prefix = type_prefix(resource)
            shown = [b"{" + item[len(prefix) :] if item.startswith(prefix) else item for item in shown]
        return head[:-1] + b',"items":[' + b",".join(shown) + b"]}\n"

    def event(self, resource: ResourceType, data: bytes, *, first: bool) -> bytes:
        del first
        return in_version(resource, data)


class MetadataOnly:
    """PartialObjectMetadata, or PartialObjectMetadataList for lists."""

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
    """A meta.k8s.io/v1 Table; rows contain metadata, the whole object or nothing, by includeObject."""

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
        """Events are always JSON; other forms are refused before a watch begins."""
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


def chosen(request: Request) -> Representation:
    """The first form in the Accept header that this server has."""
    form = accepted_form(request.headers.get("accept", ""))
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


def object_answer(
    request: Request,
    resource: ResourceType,
    obj: JsonObject,
    *,
    data: bytes | None = None,
    status: int = 200,
    warnings: Iterable[str] = (),
) -> Response:
    """The object; `data` are its bytes where it was just stored."""
    shown = chosen(request)
    return Response(
        status=status,
        body=shown.one(resource, orjson.dumps(ordered(obj)) if data is None else data) + b"\n",
        content_type=shown.content_type,
        headers=warning_headers(warnings),
    )


MAX_WARNINGS: Final = 4_096
MAX_WARNING: Final = 256
MAX_WARNING_COUNT: Final = 50
"""Clients refuse answers with more than a hundred headers."""


def warning_headers(warnings: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """One with a control character is left out, as Kubernetes does: a field's name may hold any."""
    shown = _shortened(
        warning
        for warning in dict.fromkeys(warnings)
        if not any(unicodedata.category(char) == "Cc" for char in warning)
    )
    return tuple(("Warning", f"299 - {orjson.dumps(item).decode()}") for item in shown)


def _shortened(warnings: Iterable[str]) -> list[str]:
    """Limit warnings as Kubernetes does: 4,096 characters in total; if there are more, 256 of each.

    Reads no more of them than it needs: an object may have a hundred thousand.
    """
    first: list[str] = []
    characters = 0
    for warning in warnings:
        characters += len(warning)
        if len(first) < MAX_WARNING_COUNT:
            first.append(warning)
        elif characters > MAX_WARNINGS:
            break
    if characters <= MAX_WARNINGS:
        return first
    kept: list[str] = []
    left = MAX_WARNINGS
    for item in first:
        short = item[:MAX_WARNING]
        left -= len(short)
        if left < 0:
            break
        kept.append(short)
    return kept


@contextmanager
def also_warning(warnings: list[str]) -> Iterator[None]:
    """Add these warnings to errors that are raised inside."""
    try:
        yield
    except ApiError as error:
        error.headers = (*error.headers, *warning_headers(warnings))
        raise
