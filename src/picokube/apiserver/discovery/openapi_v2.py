"""OpenAPI v2: one document for all kinds, made from their v3 descriptions, as JSON or as protobuf for kubectl.

It is built on first use, and again after the kinds have changed. Field numbers are those of the published
OpenAPIv2.proto.
"""

import asyncio
import hashlib
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from picokube.apiserver.discovery.discovery import MAJOR, MINOR
from picokube.apiserver.discovery.openapi_v3 import DELETE_OPTIONS, PATCH, components_of, paths_of
from picokube.apiserver.kinds.resources import Registry, ResourceType
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import Json, JsonObject, Request, Response, unchanged

_VARINT, _DOUBLE, _LENGTH = 0, 1, 2
_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
_SCHEMA_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_SCHEMA_DOUBLES: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_SCHEMA_FLAGS: Final = {"exclusiveMaximum": 8, "exclusiveMinimum": 10, "uniqueItems": 16}
_SCHEMA_WHOLES: Final = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17, "minProperties": 18,
}  # fmt: skip


def encode_document(document: Json) -> bytes:
    """The message Document."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(_named(2, name, _encode_path_item(item)) for name, item in document["paths"].items())
    definitions = b"".join(
        _named(1, name, _encode_schema(entry)) for name, entry in document["definitions"].items()
    )
    shared = b"".join(
        _named(1, name, _encode_parameter(entry)) for name, entry in document["parameters"].items()
    )
    return (
        _text(1, document["swagger"])
        + _message(2, info)
        + _message(8, paths)
        + _message(9, definitions)
        + _message(10, shared)
    )


def _encode_path_item(item: Json) -> bytes:
    operations = b"".join(
        _message(number, _encode_operation(item[name])) for name, number in _METHODS.items() if name in item
    )
    return operations + b"".join(
        _message(9, _encode_parameters_item(parameter)) for parameter in item.get("parameters") or ()
    )


def _encode_operation(operation: Json) -> bytes:
    responses = b"".join(
        _named(1, code, _message(1, _encode_response(answer)))
        for code, answer in operation["responses"].items()
    )
    return (
        _texts(1, operation["tags"])
        + _text(5, operation["operationId"])
        + _texts(6, operation["produces"])
        + _texts(7, operation["consumes"])
        + b"".join(_message(8, _encode_parameters_item(parameter)) for parameter in operation["parameters"])
        + _message(9, responses)
        + _extensions(13, operation)
    )


def _encode_response(answer: Json) -> bytes:
    found = _text(1, answer["description"])
    return found + (_message(2, _message(1, _encode_schema(answer["schema"]))) if "schema" in answer else b"")


def _encode_parameters_item(found: Json) -> bytes:
    if "$ref" in found:
        return _message(2, _text(1, found["$ref"]))
    return _message(1, _encode_parameter(found))


def _encode_parameter(found: Json) -> bytes:
    match found["in"]:
        case "body":
            body = _text(2, found["name"]) + _text(3, "body") + _flag(4, value=found.get("required") is True)
            return _message(1, body + _message(5, _encode_schema(found["schema"])))
        case "path":
            path = _flag(1, value=True) + _text(2, "path") + _text(3, found.get("description", ""))
            path += _text(4, found["name"]) + _text(5, found["type"]) + _flag(19, value=True)
            return _message(2, _message(4, path))
        case _:
            query = _text(2, "query") + _text(4, found["name"]) + _text(6, found["type"])
            return _message(2, _message(3, query + _flag(20, value=True)))


def _encode_schema(schema: Json) -> bytes:
    found = b"".join(_text(number, schema[name]) for name, number in _SCHEMA_TEXTS.items() if name in schema)
    found += b"".join(
        _key(number, _DOUBLE) + struct.pack("<d", float(schema[name]))
        for name, number in _SCHEMA_DOUBLES.items()
        if name in schema
    )
    found += b"".join(
        _flag(number, value=schema[name] is True) for name, number in _SCHEMA_FLAGS.items() if name in schema
    )
    found += b"".join(
        _key(number, _VARINT) + _varint(int(schema[name]))
        for name, number in _SCHEMA_WHOLES.items()
        if name in schema
    )
    found += _texts(19, schema.get("required") or ())
    found += b"".join(_message(20, _any(item)) for item in schema.get("enum") or ())
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        found += _message(21, _message(1, _encode_schema(more)))
    elif more is not None:
        found += _message(21, _key(2, _VARINT) + _varint(int(bool(more))))
    if "type" in schema:
        found += _message(22, _text(1, schema["type"]))
    if isinstance(schema.get("items"), Mapping):
        found += _message(23, _message(1, _encode_schema(schema["items"])))
    if properties := schema.get("properties"):
        inner = b"".join(_named(1, name, _encode_schema(item)) for name, item in properties.items())
        found += _message(25, inner)
    return found + _extensions(31, schema)


def _extensions(number: int, found: Json) -> bytes:
    return b"".join(_named(number, name, _any(found[name])) for name in found if name.startswith("x-"))


def _any(value: Any) -> bytes:
    """A value as YAML, of which JSON is a part."""
    return _text(2, orjson.dumps(value).decode() + "\n")


def _named(number: int, name: str, value: bytes) -> bytes:
    return _message(number, _text(1, name) + _message(2, value))


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_message(number, value.encode()) for value in values)


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode()) if value else b""


def _flag(number: int, *, value: bool) -> bytes:
    return _key(number, _VARINT) + b"\x01" if value else b""


def _message(number: int, value: bytes) -> bytes:
    return _key(number, _LENGTH) + _varint(len(value)) + value


def _key(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


PATH: Final = "/openapi/v2"
_JSON: Final = "application/json"
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PROTOBUF_NAMES: Final = frozenset({_PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"})
"""Clients ask by the second name, which is no media type."""
_INFO: Final = {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"}
_V3_PREFIX, _V2_PREFIX = "#/components/schemas/", "#/definitions/"
_DROPPED_FIELDS: Final = frozenset(
    {"allOf", "anyOf", "default", "nullable", "not", "oneOf", "x-kubernetes-validations"}
)
_TYPE_FIELDS: Final = frozenset({"type", "items", "properties", "required"})
"""kubectl refuses fields that it does not find in these: they are left out where others may be."""
_SHARED_BODIES: Final = {
    "patch": {"name": "body", "in": "body", "required": True, "schema": {"$ref": f"{_V2_PREFIX}{PATCH}"}},
    "delete": {"name": "body", "in": "body", "schema": {"$ref": f"{_V2_PREFIX}{DELETE_OPTIONS}"}},
}
_WATCHED: Final = ("application/json", "application/vnd.kubernetes.protobuf")


class OpenApiV2:
    """The document in both its forms, kept for as long as the same kinds are served."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._forms: dict[str, bytes] = {}

    async def answer(self, request: Request) -> Response | None:
        """The document in the requested form, JSON by default; None for another path."""
        if request.path != PATH:
            return None
        form = _accepted_type(request.headers.get("accept") or "*/*")
        generation = self._registry.generation
        body = self._forms.get(form) if generation == self._generation else None
        if body is None:
            # In a thread: it takes a quarter of a second, which others would wait for.
            body = await asyncio.to_thread(_rendered, list(self._registry), form)
            if generation != self._generation:
                self._forms.clear()
            self._generation, self._forms[form] = generation, body
        headers = (("ETag", f'"{hashlib.sha512(body).hexdigest().upper()}"'), ("Vary", "Accept"))
        if request.headers.get("if-none-match") == headers[0][1]:
            return unchanged(headers)
        return Response(body=body, content_type=form, headers=headers)


def _rendered(kinds: list[ResourceType], form: str) -> bytes:
    document = document_of(kinds)
    return orjson.dumps(document) if form == _JSON else encode_document(document)


def _accepted_type(accept: str) -> str:
    for accepted in accept.split(","):
        media = accepted.partition(";")[0].strip()
        if media in ("", "*/*", "application/*", _JSON):
            return _JSON
        if media in _PROTOBUF_NAMES:
            return _PROTOBUF
    raise errors.not_acceptable([_JSON, _PROTOBUF])


def document_of(kinds: list[ResourceType]) -> JsonObject:
    """Everything that is served."""
    paths: JsonObject = {}
    for kind in kinds:
        root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
        for path, item in paths_of(root, kind).items():
            paths[path] = _path_item(item)
    definitions = {name: _schema(schema) for name, schema in components_of(kinds).items()}
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": {path: paths[path] for path in sorted(paths)},
        "definitions": definitions,
        "parameters": {f"body-{name}": body for name, body in _SHARED_BODIES.items()},
    }


def _path_item(item: Mapping[str, Any]) -> JsonObject:
    found: JsonObject = {
        method: _operation(method, operation) for method, operation in item.items() if method != "parameters"
    }
    return found | {"parameters": [_parameter(parameter) for parameter in item.get("parameters") or ()]}


def _operation(method: str, operation: Mapping[str, Any]) -> JsonObject:
    responses = {
        code: {"description": answer["description"]} | _response_schema(answer)
        for code, answer in operation["responses"].items()
    }
    produces = list(operation["responses"]["200"].get("content") or ())
    is_custom = "application/vnd.kubernetes.protobuf" not in produces
    if operation["x-kubernetes-action"] == "list" and not is_custom:
        produces += [f"{item};stream=watch" for item in _WATCHED]
    content = (operation.get("requestBody") or {}).get("content") or {}
    consumes = list(content) if method == "patch" else ["application/json", "application/yaml"]
    parameters = [_parameter(parameter) for parameter in operation.get("parameters") or ()]
    return {
        "tags": operation["tags"],
        "operationId": operation["operationId"],
        "consumes": consumes if is_custom or method == "patch" else ["*/*"],
        "produces": produces,
        "parameters": [*_body(method, content), *parameters],
        "responses": responses,
        "x-kubernetes-action": operation["x-kubernetes-action"],
        "x-kubernetes-group-version-kind": operation["x-kubernetes-group-version-kind"],
    }


def _response_schema(answer: Mapping[str, Any]) -> JsonObject:
    shown = next(iter((answer.get("content") or {}).values()), None)
    return {} if shown is None else {"schema": _schema(shown["schema"])}


def _body(method: str, content: Mapping[str, Any]) -> list[JsonObject]:
    if not content:
        return []
    if method in _SHARED_BODIES:
        return [{"$ref": f"#/parameters/body-{method}"}]
    schema = _schema(next(iter(content.values()))["schema"])
    return [{"name": "body", "in": "body", "required": True, "schema": schema}]


def _parameter(found: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in found.items() if name != "schema"} | dict(found["schema"])


def _schema(schema: Any) -> Any:
    """A schema as OpenAPI v2, which has no unions, no null and no object defaults."""
    if not isinstance(schema, Mapping):
        return schema
    if isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"].replace(_V3_PREFIX, _V2_PREFIX)}
    dropped = set(_DROPPED_FIELDS)
    if schema.get("nullable") is True:
        dropped |= _TYPE_FIELDS | {"format", "enum"}
    if schema.get("x-kubernetes-preserve-unknown-fields") is True:
        dropped |= _TYPE_FIELDS
    found: JsonObject = {}
    for name, value in schema.items():
        if name in dropped:
            continue
        match name:
            case "properties":
                found[name] = {key: _schema(item) for key, item in value.items()}
            case "items" | "additionalProperties":
                found[name] = _schema(value)
            case _:
                found[name] = value
    return found | _of_choices(schema)


def _of_choices(schema: Mapping[str, Any]) -> JsonObject:
    """The v2 form of a reference with a description, and of an int-or-string."""
    whole: list[Mapping[str, Any]] = schema.get("allOf") or []
    if len(whole) == 1 and "$ref" in whole[0]:
        return {"$ref": whole[0]["$ref"].replace(_V3_PREFIX, _V2_PREFIX)}
    kinds = [item.get("type") for item in schema.get("oneOf") or ()]
    return {"type": "string"} if "string" in kinds and "type" not in schema else {}
