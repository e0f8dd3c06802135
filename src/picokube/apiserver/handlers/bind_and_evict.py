"""POST of a Binding and of an Eviction: a pod is given to a node, or asked to leave it."""

from dataclasses import replace
from functools import cache
from typing import Final

import orjson

from picokube.apiserver import errors
from picokube.apiserver.admission import admitted
from picokube.apiserver.deletion import DeleteOptions, check_preconditions, delete, delete_options
from picokube.apiserver.messages import Answer, Request, json_response
from picokube.apiserver.object_store import put
from picokube.apiserver.options import write_options
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.server_context import Serving, key_of
from picokube.apiserver.storage.store import Key, Put, Stored
from picokube.apiserver.strategies.kind import Kind

_DONE: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_EVICTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


async def bind_pod(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """A pod has one node, and keeps it."""
    options = write_options(request)
    binding = await _body(serving, _type("", "Binding", "core/v1.Binding"), target, request)
    node = _node(binding)
    bound: JsonObject | None = None

    def change(stored: Stored | None) -> Put | None:
        nonlocal bound
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, target.name or "")
        pod = orjson.loads(stored.data)
        _check_free(pod, binding["metadata"])
        _assign(pod, node, binding["metadata"], serving.now())
        if options.dry_run:
            return None
        bound = pod
        return put(pod)

    await serving.store.change(key_of(resource, target.namespace, target.name or ""), change)
    if bound is not None:
        serving.tell(resource, bound)
    return json_response(_DONE, status=201)


async def evict_pod(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """Deleted with its grace. Budgets are stored, and nobody here counts disruptions: they hold no pod."""
    options = write_options(request)
    eviction = await _body(serving, _type("policy", "Eviction", "policy/v1.Eviction"), target, request)
    found = delete_options(eviction.get("deleteOptions") or {})
    wanted = replace(found, dry_run=found.dry_run or options.dry_run)
    key = key_of(resource, target.namespace, target.name or "")
    if not wanted.dry_run:
        await _announce(serving, resource, key, wanted)
    await delete(serving, resource, key, wanted)
    return json_response(_DONE, status=201)


async def _announce(serving: Serving, resource: ResourceType, key: Key, options: DeleteOptions) -> None:
    """The pod says why it goes, for as long as it is still there."""
    reported: JsonObject | None = None

    def change(stored: Stored | None) -> Put | None:
        nonlocal reported
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, key.name)
        pod = orjson.loads(stored.data)
        check_preconditions(resource, pod, options)
        if pod["metadata"].get("deletionTimestamp"):
            return None
        _set_condition(pod, _EVICTED, serving.now())
        reported = pod
        return put(pod)

    await serving.store.change(key, change)
    if reported is not None:
        serving.tell(resource, reported)


async def _body(serving: Serving, kind: ResourceType, target: Target, request: Request) -> JsonObject:
    found = (await admitted(serving, kind, target, request, write_options(request))).object
    if found["metadata"].get("name") != target.name:
        raise errors.bad_request(f"name in URL does not match name in {kind.kind} object")
    return found


@cache
def _type(group: str, kind: str, struct: str) -> ResourceType:
    plural = f"{kind.lower()}s"
    return ResourceType(
        group=group, version="v1", kind=kind, plural=plural, singular=kind.lower(), strategy=Kind(struct)
    )


def _node(binding: JsonObject) -> str:
    target = binding.get("target") or {}
    kind, name = target.get("kind", ""), target.get("name", "")
    problems = []
    if kind not in ("", "Node"):
        problems.append(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not name:
        problems.append("target.name: Required value")
    if problems:
        raise errors.internal(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return str(name)


def _check_free(pod: JsonObject, meta: JsonObject) -> None:
    own, spec = pod["metadata"], pod["spec"]
    name = own["name"]
    for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if meta.get(field) and meta[field] != own[field]:
            why = f"Precondition failed: {shown} in precondition: {meta[field]}, {shown} in object meta: {own[field]}"
            raise errors.conflict("pods", "", name, why)
    if own.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise errors.conflict("pods/binding", "", name, why)


def _assign(pod: JsonObject, node: str, meta: JsonObject, now: str) -> None:
    pod["spec"]["nodeName"] = node
    for name in ("annotations", "labels"):
        if meta.get(name):
            pod["metadata"][name] = {**(pod["metadata"].get(name) or {}), **meta[name]}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    _set_condition(pod, {"type": "PodScheduled", "status": "True"}, now)


def _set_condition(pod: JsonObject, condition: JsonObject, now: str) -> None:
    status = pod.setdefault("status", {})
    conditions = status.get("conditions") or []
    before: JsonObject = next((item for item in conditions if item["type"] == condition["type"]), {})
    since = before.get("lastTransitionTime", now) if before.get("status") == condition["status"] else now
    new = condition | {"lastProbeTime": None, "lastTransitionTime": since}
    status["conditions"] = [item for item in conditions if item["type"] != condition["type"]] + [new]
