"""Schemas as OpenAPI publishes them: by name, referring to each other. Built-in ones come from data, custom ones from
their definition, completed as a real server does. Pure.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from picokube.apiserver.builtin_data import kinds, referring_definition
from picokube.apiserver.resources import JsonObject, ResourceType

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
            _keep(name, found)
        if "scale" in resource.subresources:
            _keep(SCALE, found)
    return {name: found[name] for name in sorted(found)}


def _add_own(resource: ResourceType, shown: JsonObject, found: JsonObject) -> None:
    name, list_name = schema_name(resource), list_schema_name(resource)
    if resource.is_custom:
        _keep(OBJECT_META, found)
        _keep(LIST_META, found)
        found[name] = _custom(resource)
        found[list_name] = _custom_list(resource)
    else:
        _keep(name, found)
        if "list" in resource.verbs:
            _keep(list_name, found)
    _mark(found, name, shown)
    if list_name in found:
        _mark(found, list_name, shown | {"kind": list_name.rpartition(".")[2]})


def _mark(found: JsonObject, name: str, kind: JsonObject) -> None:
    found[name] = found[name] | {"x-kubernetes-group-version-kind": [kind]}


def _keep(name: str, found: JsonObject) -> None:
    """A built-in schema and all that it refers to."""
    if name in found:
        return
    schema = referring_definition(name)
    found[name] = _published(schema)
    if name in _KIND_OF:
        _mark(found, name, _KIND_OF[name])
    for inner in _references(schema):
        _keep(inner, found)


def _published(schema: Any) -> Any:
    """Beside other words a reference stands in allOf: OpenAPI v3 has no siblings of $ref."""
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


def _custom(resource: ResourceType) -> JsonObject:
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
    """With what everybody knows of an embedded resource, and both types of what may be a number or a text."""
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
