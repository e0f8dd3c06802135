"""OpenAPI v2, for clients that know no newer document: one for all kinds, made from their v3 descriptions.

Made when it is first asked for, and again after the kinds have changed. Terraform and older clients read it as JSON,
kubectl as protobuf.
"""

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from picokube.apiserver import errors
from picokube.apiserver.discovery import MAJOR, MINOR
from picokube.apiserver.messages import Request, Response, unchanged
from picokube.apiserver.openapi_paths import paths_of
from picokube.apiserver.openapi_schemas import DELETE_OPTIONS, PATCH, components_of
from picokube.apiserver.openapi_v2_protobuf import encoded
from picokube.apiserver.registry import Registry
from picokube.apiserver.resources import JsonObject, ResourceType

PATH: Final = "/openapi/v2"
_JSON: Final = "application/json"
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_ASKED_FOR: Final = frozenset({_PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"})
"""Clients ask by the second name, which is no media type."""
_INFO: Final = {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"}
_NEW, _OLD = "#/components/schemas/", "#/definitions/"
_UNKNOWN_TO_V2: Final = frozenset(
    {"allOf", "anyOf", "default", "nullable", "not", "oneOf", "x-kubernetes-validations"}
)
_OPEN: Final = frozenset({"type", "items", "properties", "required"})
"""kubectl refuses fields that it does not find in these: they are left out where others may be."""
_SHARED_BODIES: Final = {
    "patch": {"name": "body", "in": "body", "required": True, "schema": {"$ref": f"{_OLD}{PATCH}"}},
    "delete": {"name": "body", "in": "body", "schema": {"$ref": f"{_OLD}{DELETE_OPTIONS}"}},
}
_WATCHED: Final = ("application/json", "application/vnd.kubernetes.protobuf")


class OpenApiV2:
    """The document in both its forms, kept for as long as the same kinds are served."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._forms: dict[str, bytes] = {}

    async def answer(self, request: Request) -> Response | None:
        """The document in the form that is asked for, JSON if any will do; None for another path."""
        if request.path != PATH:
            return None
        form = _form(request.headers.get("accept") or "*/*")
        generation = self._registry.generation
        body = self._forms.get(form) if generation == self._generation else None
        if body is None:
            # In a thread: it takes a quarter of a second, which others would wait for.
            body = await asyncio.to_thread(_made, list(self._registry), form)
            if generation != self._generation:
                self._forms.clear()
            self._generation, self._forms[form] = generation, body
        headers = (("ETag", f'"{hashlib.sha512(body).hexdigest().upper()}"'), ("Vary", "Accept"))
        if request.headers.get("if-none-match") == headers[0][1]:
            return unchanged(headers)
        return Response(body=body, content_type=form, headers=headers)


def _made(kinds: list[ResourceType], form: str) -> bytes:
    document = document_of(kinds)
    return orjson.dumps(document) if form == _JSON else encoded(document)


def _form(accept: str) -> str:
    for accepted in accept.split(","):
        media = accepted.partition(";")[0].strip()
        if media in ("", "*/*", "application/*", _JSON):
            return _JSON
        if media in _ASKED_FOR:
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
        code: {"description": answer["description"]} | _answered(answer)
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


def _answered(answer: Mapping[str, Any]) -> JsonObject:
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
        return {"$ref": schema["$ref"].replace(_NEW, _OLD)}
    dropped = set(_UNKNOWN_TO_V2)
    if schema.get("nullable") is True:
        dropped |= _OPEN | {"format", "enum"}
    if schema.get("x-kubernetes-preserve-unknown-fields") is True:
        dropped |= _OPEN
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
    """What is left of a reference beside a description, and of a value that may be a number or a text."""
    whole: list[Mapping[str, Any]] = schema.get("allOf") or []
    if len(whole) == 1 and "$ref" in whole[0]:
        return {"$ref": whole[0]["$ref"].replace(_NEW, _OLD)}
    kinds = [item.get("type") for item in schema.get("oneOf") or ()]
    return {"type": "string"} if "string" in kinds and "type" not in schema else {}
