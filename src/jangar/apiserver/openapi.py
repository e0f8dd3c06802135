"""OpenAPI v3: one document a group and version, with what kubectl needs of it: schemas, and paths that name kinds."""

import hashlib
from typing import Any

import orjson

from jangar.apiserver.messages import Request, Response, json_response
from jangar.apiserver.registry import Registry
from jangar.apiserver.resources import JsonObject, ResourceType


class OpenApi:
    """Documents are made when first asked for, and again when the table of kinds changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._documents: dict[str, bytes] = {}
        self._generation = -1

    def answer(self, request: Request) -> Response | None:
        if not request.path.startswith("/openapi/v3"):
            return None
        self._forget_if_changed()
        place = request.path.removeprefix("/openapi/v3").strip("/")
        if not place:
            return json_response({"paths": self._index()})
        document = self._document(place)
        if document is None:
            return None
        digest = _digest(document)
        headers = (("ETag", f'"{digest}"'), ("Vary", "Accept"))
        return Response(body=document, headers=headers)

    def _forget_if_changed(self) -> None:
        if self._generation != self._registry.generation:
            self._documents.clear()
            self._generation = self._registry.generation

    def _index(self) -> JsonObject:
        places = sorted({_place(each) for each in self._registry})
        return {
            place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_digest(self._document(place) or b'')}"}
            for place in places
        }

    def _document(self, place: str) -> bytes | None:
        if place not in self._documents:
            kinds = [each for each in self._registry if _place(each) == place]
            if not kinds:
                return None
            self._documents[place] = orjson.dumps(_written(kinds))
        return self._documents[place]


def _place(resource: ResourceType) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _digest(document: bytes) -> str:
    return hashlib.sha512(document).hexdigest().upper()


def _written(kinds: list[ResourceType]) -> JsonObject:
    schemas: JsonObject = {}
    paths: JsonObject = {}
    for resource in kinds:
        name = _schema_name(resource)
        schemas[name] = dict(resource.schema) | {"x-kubernetes-group-version-kind": [_kind(resource)]}
        schemas[f"{name}List"] = _list_schema(resource, name)
        paths |= _paths(resource, name)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.35.4"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _schema_name(resource: ResourceType) -> str:
    """`ai.proompteng.agents.v1alpha1.AgentRun`, `io.k8s.api.batch.v1.Job`."""
    if resource.is_custom:
        return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    group = resource.group.removesuffix(".k8s.io").split(".")[0] or "core"
    return f"io.k8s.api.{group}.{resource.version}.{resource.kind}"


def _kind(resource: ResourceType) -> JsonObject:
    return {"group": resource.group, "kind": resource.kind, "version": resource.version}


def _list_schema(resource: ResourceType, name: str) -> JsonObject:
    return {
        "description": f"{resource.kind}List is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "items": {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}},
        },
        "x-kubernetes-group-version-kind": [_kind(resource) | {"kind": f"{resource.kind}List"}],
    }


def _paths(resource: ResourceType, name: str) -> JsonObject:
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    base = f"/{_place(resource)}{scope}/{resource.plural}"
    schema = {"$ref": f"#/components/schemas/{name}"}
    collection = {"get": _operation(resource, "list", schema), "post": _operation(resource, "post", schema)}
    single = {
        verb: _operation(resource, action, schema)
        for verb, action in (("get", "get"), ("put", "put"), ("patch", "patch"), ("delete", "delete"))
    }
    return {base: collection, f"{base}/{{name}}": single}


def _operation(resource: ResourceType, action: str, schema: JsonObject) -> JsonObject:
    parameters: list[Any] = []
    if action in ("post", "put", "patch"):
        parameters = [_query("dryRun"), _query("fieldManager"), _query("fieldValidation")]
    if action == "patch":
        parameters.append(_query("force", "boolean"))
    return {
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource),
    }


def _query(name: str, kind: str = "string") -> JsonObject:
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
