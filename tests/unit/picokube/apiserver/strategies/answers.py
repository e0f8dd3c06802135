"""What a strategy makes of a request, in the shape in which a real server's answers are recorded.

Plays the part of the handlers that strategies see: decode, stamp, complete, prepare, validate. Stores nothing.
"""

import copy
import json
import re
from typing import Any

from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.kinds.object_meta import metadata_errors
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol import errors

UID = "0b0aa4e6-0000-4000-8000-000000000001"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def _stored(resource: str, namespace: str, name: str) -> dict[str, Any] | None:
    """What a fresh server holds."""
    del namespace
    return {} if (resource, name) == ("serviceaccounts", "default") else None


_TYPES = {
    (built_in_type.group, built_in_type.version, built_in_type.plural): built_in_type
    for built_in_type in built_in_types(_stored)
}
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
_BY_SERVER = {
    "clusterIP": "<ip>",
    "clusterIPs": ["<ip>"],
    "nodePort": "<port>",
    "healthCheckNodePort": "<port>",
}


def resource_of(path: str) -> tuple[ResourceType, str | None]:
    """The type and the namespace that a collection's path names."""
    parts = path.strip("/").split("/")
    group, version, *rest = ("", *parts[1:]) if parts[0] == "api" else parts[1:]
    namespace = rest[1] if len(rest) > 2 and rest[0] == "namespaces" else None
    return _TYPES[group, version, rest[-1]], namespace


def created(path: str, sent: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The object as it would be stored, or ApiError; and warnings."""
    resource, namespace = resource_of(path)
    obj, _ = resource.strategy.decode(copy.deepcopy(sent))
    obj = {"apiVersion": resource.api_version, "kind": resource.kind} | obj
    meta = obj.setdefault("metadata", {})
    meta |= {"uid": UID, "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "1"}
    if namespace:
        meta["namespace"] = namespace
    if resource.has_generation:
        meta["generation"] = 1
    resource.strategy.complete(obj)
    resource.strategy.prepare_create(obj)
    problems = [*metadata_errors(resource, obj["metadata"]), *resource.strategy.validate_create(obj)]
    if problems:
        raise errors.invalid(resource.kind, resource.stored_group, meta.get("name", ""), problems)
    return obj, resource.strategy.warnings(obj, None)


def updated(
    path: str, old: dict[str, Any], new: dict[str, Any], subresource: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """The changed object as it would be stored, or ApiError; and warnings."""
    resource, _ = resource_of(path)
    obj, _ = resource.strategy.decode(copy.deepcopy(new))
    resource.strategy.prepare_update(obj, old, subresource)
    if resource.has_generation and _desired(obj) != _desired(old):
        obj["metadata"]["generation"] += 1
    problems = [
        *metadata_errors(resource, obj["metadata"]),
        *resource.strategy.validate_update(obj, old, subresource),
    ]
    if problems:
        raise errors.invalid(resource.kind, resource.stored_group, old["metadata"]["name"], problems)
    return obj, resource.strategy.warnings(obj, old)


def _desired(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def answer(status: int, body: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    """An answer without what differs from run to run."""
    found: dict[str, Any] = {"code": status}
    if body.get("kind") == "Status":
        found["message"] = _plain(body["message"])
        causes = (body.get("details") or {}).get("causes")
        if causes:
            found["causes"] = [[cause.get("field"), cause["reason"]] for cause in causes]
    else:
        found["object"] = _plain(body)
    if warnings:
        found["warnings"] = _plain(warnings)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        text = UUID.sub("<uid>", value)
        text = re.sub(r"kube-api-access-[a-z0-9]{5}", "kube-api-access-<random>", text)
        # A real server shows whole pods in Go's own form here.
        text = re.sub(r"(spec\.template: Invalid value: )\{.*\}", r"\1<template>", text, flags=re.DOTALL)
        text = re.sub(
            r"(if it was previously negative\)|for bound claims)\n@@.*", r"\1", text, flags=re.DOTALL
        )
        text = re.sub(r"(securityContext: Invalid value: )\{[^}]*\}", r"\1<context>", text, flags=re.DOTALL)
        return re.sub(
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", lambda m: "<micro>" if m[1] else "<time>", text
        )
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        found = {}
        for key, item in value.items():
            if key in _BY_SERVER and item not in ("None", ["None"], ""):
                found[key] = _BY_SERVER[key]
            elif key == "metadata" and isinstance(item, dict):
                found[key] = _plain({name: part for name, part in item.items() if name not in _VOLATILE})
            else:
                found[key] = _plain(item)
        return found
    return value


def of_strategy(case: dict[str, Any]) -> dict[str, Any]:
    """What our strategies answer to a recorded case."""
    path = case["path"].partition("?")[0]
    try:
        obj, warnings = created(path, case["sent"])
        status = 201
        for change in case.get("then", ()):
            status = 200
            obj, warnings = updated(path, obj, merged(obj, change["merge"]), change.get("subresource", ""))
    except errors.ApiError as error:
        return answer(error.code, error.status(), [])
    return json.loads(json.dumps(answer(status, obj, warnings)))


def merged(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    found = copy.deepcopy(old) if isinstance(old, dict) else {}
    for key, item in patch.items():
        if item is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), item)
    return found
