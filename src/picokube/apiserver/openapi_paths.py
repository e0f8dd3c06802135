"""Paths of a kind as OpenAPI shows them: what can be asked where, with which parameters and bodies. Pure.

Parameters are named and typed; what they mean is not told again for each.
"""

from typing import Any, Final

from picokube.apiserver.openapi_schemas import (
    DELETE_OPTIONS,
    PATCH,
    SCALE,
    STATUS,
    list_schema_name,
    reference,
    schema_name,
)
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.subresources import subresource_kind, subresource_verbs

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
_METHODS: Final = {
    # verb: (method, action, what operation ids begin with)
    "list": ("get", "list", "list"),
    "create": ("post", "post", "create"),
    "deletecollection": ("delete", "deletecollection", "delete"),
    "get": ("get", "get", "read"),
    "update": ("put", "put", "replace"),
    "delete": ("delete", "delete", "delete"),
    "patch": ("patch", "patch", "patch"),
}
_NOT_DESCRIBED: Final = frozenset({"log", "token"})
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
    for name in sorted(resource.subresources - _NOT_DESCRIBED):
        path = f"{base}/{{name}}/{name}"
        verbs = subresource_verbs(name)
        found[path] = _item(resource, verbs, path, subresource=name)
    return {path: item for path, item in found.items() if len(item) > 1}


def _item(resource: ResourceType, verbs: tuple[str, ...], path: str, *, subresource: str = "") -> JsonObject:
    found: JsonObject = {
        _METHODS[verb][0]: _operation(resource, verb, subresource=subresource)
        for verb in verbs
        if subresource or verb in resource.verbs
    }
    parameters = [_in_path(name, resource) for name in ("name", "namespace") if f"{{{name}}}" in path]
    return found | {"parameters": [*parameters, _query("pretty", "string")]}


def _operation(
    resource: ResourceType, verb: str, *, subresource: str = "", everywhere: bool = False
) -> JsonObject:
    _, action, word = _METHODS[verb]
    shown = _answered(resource, action, subresource)
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


def _answered(resource: ResourceType, action: str, subresource: str) -> str:
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
