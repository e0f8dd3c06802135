"""OpenAPI v3: an index, and one document per group and version, built on first use and when its kinds change.

Schemas of built-in kinds come from generated data, those of custom kinds from their CRD.
"""

import hashlib
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import orjson

from picokube.apiserver.discovery.discovery import MAJOR, MINOR
from picokube.apiserver.kinds.builtin_data import kinds, referring_definition
from picokube.apiserver.kinds.resources import Registry, ResourceType, subresource_kind, subresource_verbs
from picokube.apiserver.protocol.messages import JsonObject, Request, Response, unchanged

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META, LIST_META, STATUS = f"{META}.ObjectMeta", f"{META}.ListMeta", f"{META}.Status"
DELETE_OPTIONS, PATCH = f"{META}.DeleteOptions", f"{META}.Patch"
SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"

_PREFIX: Final = "#/components/schemas/"
_CONVENTIONS: Final = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_KIND_OF: Final[dict[str, JsonObject]] = {
    STATUS: {"group": "", "kind": "Status", "version": "v1"},
    SCALE: {"group": "autoscaling", "kind": "Scale", "version": "v1"},
}
_META_PROPERTIES: Final = ("apiVersion", "kind", "metadata")
_EMBEDDED: Final = {
    "apiVersion": {
        "description": "apiVersion defines the versioned schema of this representation of an object. More info: "
        f"{_CONVENTIONS}#resources",
        "type": "string",
    },
    "kind": {
        "description": "kind is a string value representing the type of this object. In CamelCase. More info: "
        f"{_CONVENTIONS}#types-kinds",
        "type": "string",
    },
}


def schema_name(resource: ResourceType) -> str:
    """`ai.proompteng.agents.v1alpha1.AgentRun`, `io.k8s.api.batch.v1.Job`."""
    if resource.is_custom:
        return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])
    return str(kinds()[f"{resource.group}/{resource.version}/{resource.plural}"]["definition"])


def list_schema_name(resource: ResourceType) -> str:
    kind = resource.list_kind or f"{resource.kind}List"
    return f"{schema_name(resource).removesuffix(resource.kind)}{kind}"


def reference(name: str) -> JsonObject:
    return {"$ref": f"{_PREFIX}{name}"}


def components_of(resources: Iterable[ResourceType]) -> JsonObject:
    """Everything that the paths of these kinds refer to, sorted by name."""
    found: JsonObject = {}
    for resource in resources:
        shown = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        _add_own(resource, shown, found)
        for name in (STATUS, DELETE_OPTIONS, PATCH) if "delete" in resource.verbs else ():
            _add_built_in(name, found)
        if "scale" in resource.subresources:
            _add_built_in(SCALE, found)
    return {name: found[name] for name in sorted(found)}


def _add_own(resource: ResourceType, shown: JsonObject, found: JsonObject) -> None:
    name, list_name = schema_name(resource), list_schema_name(resource)
    if resource.is_custom:
        _add_built_in(OBJECT_META, found)
        _add_built_in(LIST_META, found)
        found[name] = _custom_schema(resource)
        found[list_name] = _custom_list(resource)
    else:
        _add_built_in(name, found)
        if "list" in resource.verbs:
            _add_built_in(list_name, found)
    _mark_kind(found, name, shown)
    if list_name in found:
        _mark_kind(found, list_name, shown | {"kind": list_name.rpartition(".")[2]})


def _mark_kind(found: JsonObject, name: str, kind: JsonObject) -> None:
    found[name] = found[name] | {"x-kubernetes-group-version-kind": [kind]}


def _add_built_in(name: str, found: JsonObject) -> None:
    """A built-in schema and all that it refers to."""
    if name in found:
        return
    schema = referring_definition(name)
    found[name] = _published(schema)
    if name in _KIND_OF:
        _mark_kind(found, name, _KIND_OF[name])
    for inner in _references(schema):
        _add_built_in(inner, found)


def _published(schema: Any) -> Any:
    """A reference with siblings is wrapped in allOf: OpenAPI v3 has no siblings of $ref."""
    if isinstance(schema, list):
        return [_published(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _published(item) for key, item in schema.items()}
    name = found.get("$ref")
    if not isinstance(name, str):
        return found
    del found["$ref"]
    return found | {"allOf": [reference(name)]} if found else reference(name)


def _references(schema: Any) -> Iterable[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for item in schema.values():
            yield from _references(item)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


# -- custom kinds ----------------------------------------------------------------------------------------------------


def _custom_schema(resource: ResourceType) -> JsonObject:
    own = {
        name: item
        for name, item in (resource.schema.get("properties") or {}).items()
        if name not in _META_PROPERTIES
    }
    found = _completed({**resource.schema, "properties": own})
    found["properties"] = found.get("properties", {}) | _type_meta("ConfigMap") | {"metadata": _metadata()}
    if resource.selectable_fields:
        found["x-kubernetes-selectable-fields"] = [
            {"fieldPath": path.removeprefix(".")} for path in resource.selectable_fields
        ]
    return found


def _completed(schema: Mapping[str, Any]) -> JsonObject:
    """The schema with the fields of embedded resources, and both types of an int-or-string."""
    found = dict(schema)
    properties: JsonObject = {
        name: _completed(item) for name, item in (schema.get("properties") or {}).items()
    }
    if properties:
        found["properties"] = properties
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), Mapping):
            found[name] = _completed(schema[name])
    if schema.get("x-kubernetes-embedded-resource") is True:
        found["properties"] = properties | _EMBEDDED | {"metadata": _metadata()}
        required = list(schema.get("required") or ())
        found["required"] = required + [name for name in ("kind", "apiVersion") if name not in required]
    if schema.get("x-kubernetes-int-or-string") is True and not {"anyOf", "allOf"} & set(schema):
        found["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return found


def _custom_list(resource: ResourceType) -> JsonObject:
    metadata = {
        "allOf": [reference(LIST_META)],
        "description": f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds",
    }
    items = {
        "description": f"List of {resource.plural}. More info: {_CONVENTIONS}",
        "type": "array",
        "items": reference(schema_name(resource)),
    }
    kind = resource.list_kind or f"{resource.kind}List"
    return {
        "description": f"{kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": _type_meta("ConfigMapList") | {"items": items, "metadata": metadata},
    }


def _type_meta(kind: str) -> JsonObject:
    properties = referring_definition(f"io.k8s.api.core.v1.{kind}")["properties"]
    return {name: properties[name] for name in ("apiVersion", "kind")}


def _metadata() -> JsonObject:
    return {
        "allOf": [reference(OBJECT_META)],
        "description": f"Standard object's metadata. More info: {_CONVENTIONS}#metadata",
    }


_CUSTOM_TYPES: Final = ("application/json", "application/yaml")
_BUILT_IN_TYPES: Final = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_PATCH_TYPES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_LIST: Final = (
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
)
_WRITE: Final = (("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"))
_DELETE: Final = (
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
)
_PARAMETERS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "list": _LIST,
    "get": (("resourceVersion", "string"),),
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, ("force", "boolean")),
    "delete": _DELETE,
    "deletecollection": tuple(sorted({*_LIST[1:-1], *_DELETE})),
}
_VERB_METHODS: Final = {
    # verb: (method, action, what operation ids begin with)
    "list": ("get", "list", "list"),
    "create": ("post", "post", "create"),
    "deletecollection": ("delete", "deletecollection", "delete"),
    "get": ("get", "get", "read"),
    "update": ("put", "put", "replace"),
    "delete": ("delete", "delete", "delete"),
    "patch": ("patch", "patch", "patch"),
}
_UNDESCRIBED_SUBRESOURCES: Final = frozenset({"log", "token"})
"""They answer something that has no schema here."""
_COLLECTION, _OBJECT = ("list", "create", "deletecollection"), ("get", "update", "delete", "patch")
_RESULTS: Final = {
    "post": (("200", "OK"), ("201", "Created"), ("202", "Accepted")),
    "put": (("200", "OK"), ("201", "Created")),
    "patch": (("200", "OK"), ("201", "Created")),
    "delete": (("200", "OK"), ("202", "Accepted")),
}


def paths_of(root: str, resource: ResourceType) -> JsonObject:
    """Every path of a kind below that of its group and version."""
    whole = f"{root}/{resource.plural}"
    base = f"{root}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else whole
    found = {
        base: _item(resource, _COLLECTION, base),
        f"{base}/{{name}}": _item(resource, _OBJECT, f"{base}/{{name}}"),
    }
    if resource.namespaced and "list" in resource.verbs:
        found[whole] = {
            "get": _operation(resource, "list", everywhere=True),
            "parameters": [_query(*entry) for entry in sorted({*_LIST, ("pretty", "string")})],
        }
    for name in sorted(resource.subresources - _UNDESCRIBED_SUBRESOURCES):
        path = f"{base}/{{name}}/{name}"
        verbs = subresource_verbs(name)
        found[path] = _item(resource, verbs, path, subresource=name)
    return {path: item for path, item in found.items() if len(item) > 1}


def _item(resource: ResourceType, verbs: tuple[str, ...], path: str, *, subresource: str = "") -> JsonObject:
    found: JsonObject = {
        _VERB_METHODS[verb][0]: _operation(resource, verb, subresource=subresource)
        for verb in verbs
        if subresource or verb in resource.verbs
    }
    parameters = [_in_path(name, resource) for name in ("name", "namespace") if f"{{{name}}}" in path]
    return found | {"parameters": [*parameters, _query("pretty", "string")]}


def _operation(
    resource: ResourceType, verb: str, *, subresource: str = "", everywhere: bool = False
) -> JsonObject:
    _, action, word = _VERB_METHODS[verb]
    shown = _response_schema_name(resource, action, subresource)
    types = _CUSTOM_TYPES if resource.is_custom else _BUILT_IN_TYPES
    results = _RESULTS.get(action, (("200", "OK"),))
    if action == "patch" and resource.is_custom:
        results = (("200", "OK"),)
    operation: JsonObject = {
        "tags": [f"{_tag(resource)}_{resource.version}"],
        "operationId": _operation_id(resource, word, action, subresource, everywhere=everywhere),
        "responses": {
            code: {"description": text, "content": {item: {"schema": reference(shown)} for item in types}}
            for code, text in results
        }
        | {"401": {"description": "Unauthorized"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _kind(resource, subresource),
    }
    if not everywhere and (action != "get" or resource.is_custom):
        operation["parameters"] = [_query(*item) for item in _PARAMETERS[action]]
    body = _body(resource, action, shown)
    return operation | ({"requestBody": body} if body else {})


def _kind(resource: ResourceType, subresource: str) -> JsonObject:
    own = None if resource.is_custom else subresource_kind(subresource)
    found = own or (resource.group, resource.version, resource.kind)
    return dict(zip(("group", "version", "kind"), found, strict=True))


def _response_schema_name(resource: ResourceType, action: str, subresource: str) -> str:
    if subresource == "scale":
        return SCALE
    if action == "list":
        return list_schema_name(resource)
    return STATUS if action in ("delete", "deletecollection") else schema_name(resource)


def _body(resource: ResourceType, action: str, shown: str) -> JsonObject | None:
    types: tuple[str, ...]
    match action:
        case "post" | "put":
            types = _CUSTOM_TYPES if resource.is_custom else ("*/*",)
            return {"content": {item: {"schema": reference(shown)} for item in types}, "required": True}
        case "patch":
            types = _PATCH_TYPES if resource.is_custom else (*_PATCH_TYPES, _STRATEGIC)
            return {"content": {item: {"schema": reference(PATCH)} for item in types}, "required": True}
        case "delete" | "deletecollection":
            types = _CUSTOM_TYPES if resource.is_custom else ("*/*",)
            if resource.is_custom and action == "deletecollection":
                return None
            return {"content": {item: {"schema": reference(DELETE_OPTIONS)} for item in types}}
        case _:
            return None


def _operation_id(
    resource: ResourceType, word: str, action: str, subresource: str, *, everywhere: bool
) -> str:
    tag = _tag(resource)
    place = f"{tag[:1].upper()}{tag[1:]}{resource.version[:1].upper()}{resource.version[1:]}"
    many = "Collection" if action == "deletecollection" else ""
    scope = "Namespaced" if resource.namespaced and not everywhere else ""
    rest = "ForAllNamespaces" if everywhere else subresource.capitalize()
    return f"{word}{place}{many}{scope}{resource.kind}{rest}"


def _tag(resource: ResourceType) -> str:
    """`core`, `batch`, `rbacAuthorization`, `conformanceExampleCom`."""
    first, *others = (resource.group.removesuffix(".k8s.io") or "core").split(".")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


def _in_path(name: str, resource: ResourceType) -> JsonObject:
    reported = {
        "name": f"name of the {resource.kind}",
        "namespace": "object name and auth scope, such as for teams and projects",
    }
    return {
        "name": name,
        "in": "path",
        "description": reported[name],
        "required": True,
        "schema": _schema("string"),
    }


def _query(name: str, kind: str) -> JsonObject:
    return {"name": name, "in": "query", "schema": _schema(kind)}


def _schema(kind: str) -> dict[str, Any]:
    return {"type": kind, "uniqueItems": True}


ROOT = "/openapi/v3"
_BUILT_IN = {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"}
_CUSTOM = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_TEXT = "text/plain; charset=utf-8"


class OpenApi:
    """Documents by place (`api/v1`, `apis/batch/v1`), each kept with the kinds it was made of."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kinds: dict[str, list[ResourceType]] = {}
        self._generation = -1
        self._documents: dict[str, tuple[list[ResourceType], bytes, str]] = {}

    def answer(self, request: Request) -> Response | None:
        if request.path == ROOT:
            index = {"paths": {place: {"serverRelativeURL": self._url(place)} for place in self._places()}}
            return Response(body=orjson.dumps(index), content_type=_TEXT)
        if not request.path.startswith(f"{ROOT}/"):
            return None
        place = request.path.removeprefix(f"{ROOT}/")
        if place not in self._places():
            return Response(status=HTTPStatus.NOT_FOUND, content_type="")
        document, digest = self._document(place)
        headers = (("ETag", f'"{digest}"'), ("Vary", "Accept"))
        requested = request.parameter("hash")
        if requested is not None and requested != digest:
            moved = (*headers, ("Location", self._url(place)))
            return Response(status=HTTPStatus.MOVED_PERMANENTLY, headers=moved)
        if request.headers.get("if-none-match") == f'"{digest}"':
            return unchanged(headers)
        return Response(body=document, headers=headers)

    def _places(self) -> dict[str, list[ResourceType]]:
        """Which kinds are described where."""
        if self._generation != self._registry.generation:
            found: dict[str, list[ResourceType]] = {}
            for item in self._registry:
                found.setdefault(_group_version_path(item), []).append(item)
            self._kinds = {place: found[place] for place in sorted(found)}
            self._documents = {place: made for place, made in self._documents.items() if place in self._kinds}
            self._generation = self._registry.generation
        return self._kinds

    def _url(self, place: str) -> str:
        return f"{ROOT}/{place}?hash={self._document(place)[1]}"

    def _document(self, place: str) -> tuple[bytes, str]:
        """The document and its digest. Kinds never change: other kinds make another document."""
        kinds = self._places()[place]
        made = self._documents.get(place)
        if made is None or list(map(id, made[0])) != list(map(id, kinds)):
            document = orjson.dumps(_document_of(place, kinds))
            digest = hashlib.sha512(document).hexdigest().upper()
            made = self._documents[place] = (kinds, document, digest)
        return made[1], made[2]


def _group_version_path(resource: ResourceType) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _document_of(place: str, kinds: list[ResourceType]) -> JsonObject:
    kinds = sorted(kinds, key=lambda item: item.plural)
    paths: JsonObject = {}
    for kind in kinds:
        paths |= paths_of(f"/{place}", kind)
    return {
        "openapi": "3.0.0",
        "info": _CUSTOM if all(kind.is_custom for kind in kinds) else _BUILT_IN,
        "paths": {path: paths[path] for path in sorted(paths)},
        "components": {"schemas": components_of(kinds)},
    }
