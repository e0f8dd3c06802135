"""GET, PUT and PATCH of the scale subresource: an object of another kind, made of fields of the first."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import orjson

from kubekit.controller.evaluation import evaluated
from picokube.apiserver.apply.fieldset import EMPTY, MEMBER, FieldSet, difference
from picokube.apiserver.apply.managed_fields import (
    APPLY,
    Identity,
    Managers,
    Owned,
    managed_after_write,
    managed_fields_of,
    read_managers,
)
from picokube.apiserver.handlers.patch import APPLY_PATCH, CUSTOM_TYPES
from picokube.apiserver.kinds.builtin_data import LazySchema
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.scaling import ScalePaths, WrongValue, scale_of, steps, with_replicas
from picokube.apiserver.kinds.stored_forms import upgraded
from picokube.apiserver.objects.admission import (
    apply_configuration,
    check_name_matches,
    check_namespace_matches,
    decode_request,
    patch_reader,
    patched_object,
    read_apply_configuration,
)
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.object_store import update
from picokube.apiserver.printing.representations import object_answer
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import media_type
from picokube.apiserver.protocol.messages import (
    Answer,
    JsonObject,
    Request,
    Target,
    WriteOptions,
    write_options,
)
from picokube.apiserver.strategies.checks import non_negative
from picokube.apiserver.strategies.kind import Kind

SCALE_VERSION: Final = "autoscaling/v1"
REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": EMPTY}}
Mappings = Mapping[str, str | None]
"""From an apiVersion of the kind to where it keeps its replicas; None where it has no scale."""


def to_scale(entries: list[JsonObject], mappings: Mappings) -> list[JsonObject]:
    """The managers of an object that own its replicas, as managers of its scale."""
    found: Managers = {}
    for identity, owned in read_managers(entries, trusted=True).items():
        path = mappings.get(owned.api_version)
        if path and _has(owned.fields, path):
            found[_of_scale(identity)] = Owned(fields=REPLICAS, api_version=SCALE_VERSION, time=owned.time)
    return managed_fields_of(found)


def to_parent(
    entries: list[JsonObject], of_scale: list[JsonObject], mappings: Mappings, api_version: str
) -> list[JsonObject]:
    """The managers of the object after its scale was written: managers that lost the replicas there lose them here.

    A manager that is new by its scale has no time, as in a real server.
    """
    left = read_managers(of_scale, trusted=True)
    found: Managers = {}
    for identity, owned in read_managers(entries, trusted=True).items():
        if owned.api_version not in mappings:
            continue
        path = mappings[owned.api_version]
        if not path or not _has(owned.fields, path):
            found[identity] = owned
        elif _of_scale(identity) in left:
            found[identity] = owned
            del left[_of_scale(identity)]
        elif fields := difference(owned.fields, _only(path)):
            found[identity] = owned.owning(fields)
    own = mappings.get(api_version)
    for identity, owned in left.items():
        if own and _has(owned.fields, ".spec.replicas"):
            here = Identity.of(identity.manager, identity.operation, api_version, identity.subresource)
            found[here] = Owned(fields=_only(own), api_version=api_version)
    return managed_fields_of(found)


def _of_scale(identity: Identity) -> Identity:
    return identity if identity.operation == APPLY else identity._replace(api_version=SCALE_VERSION)


def _only(path: str) -> FieldSet:
    found: FieldSet = EMPTY
    for name in reversed(steps(path)):
        found = {f"f:{name}": found}
    return found


def _has(fields: FieldSet, path: str) -> bool:
    node: FieldSet = fields
    for name in steps(path):
        if f"f:{name}" not in node:
            return False
        node = node[f"f:{name}"]
    return not node or MEMBER in node


UNSET = -(2**31)
"""Placeholder for replicas that are not set."""
SCALE = ResourceType(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    singular="scale",
    strategy=Kind("autoscaling/v1.Scale"),
    schema=LazySchema("io.k8s.api.autoscaling.v1.Scale"),
    has_generation=False,
)
Change = Callable[[JsonObject], tuple[JsonObject, list[JsonObject]]]
"""From a Scale to the wanted one and who manages it then."""


async def get_scale(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    name = target.name or ""
    stored = context.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    paths = _paths(resource)
    scale, is_stated = _scale(paths, orjson.loads(upgraded(resource, stored).data))
    if not is_stated:
        raise _no_replicas(paths)
    return object_answer(request, SCALE, scale)


async def update_scale(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    options = write_options(request, kind="UpdateOptions")
    kind = replace(SCALE, namespaced=resource.namespaced)
    found = await decode_request(context, kind, target, request, options)
    check_name_matches(target, found.object)

    def change(old: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
        return found.object, _managed(context, old, found.object, options)

    return await _scaled(context, resource, target, request, options, change, found.warnings)


async def patch_scale(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    options = write_options(request, kind="PatchOptions")
    kind = replace(SCALE, namespaced=resource.namespaced)
    warnings: list[str] = []
    if media_type(request) == APPLY_PATCH:
        configured = partial(read_apply_configuration, kind, target, request, options)
        config, warnings = await evaluated(configured, size=options.size)

        def change(old: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
            merged = apply_configuration(context, kind, old, config, options, "scale")
            return kind.strategy.decode(merged)[0], merged["metadata"].get("managedFields") or []

        return await _scaled(context, resource, target, request, options, change, warnings)
    read = patch_reader(replace(kind, is_custom=resource.is_custom), request)
    if read is None:
        raise errors.unsupported_media_type(CUSTOM_TYPES)
    patch = await evaluated(read, size=options.size)

    def patched(old: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
        warnings.clear()
        scale, reported = patched_object(context, kind, patch, orjson.loads(orjson.dumps(old)), options)
        warnings.extend(reported)
        check_name_matches(target, scale)
        check_namespace_matches(kind, target, scale)
        return scale, _managed(context, old, scale, options)

    return await _scaled(context, resource, target, request, options, patched, warnings)


async def _scaled(
    context: ServerContext,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    change: Change,
    warnings: list[str],
) -> Answer:
    paths = _paths(resource)
    mappings = _mappings(context, resource)

    def mutation(obj: JsonObject) -> tuple[JsonObject, bool]:
        old, is_stated = _scale(paths, obj)
        if not is_stated:
            old["spec"]["replicas"] = UNSET
        entries = obj["metadata"].get("managedFields") or []
        old["metadata"]["managedFields"] = to_scale(entries, mappings)
        scale, managed = change(old)
        _check(resource, scale)
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        if replicas == UNSET:
            raise errors.bad_request(f'the spec replicas field "{paths.spec}" cannot be empty')
        try:
            with_replicas(paths, obj, replicas)
        except WrongValue as error:
            raise errors.internal(str(error)) from error
        for name in ("resourceVersion", "uid"):
            if scale["metadata"].get(name):
                obj["metadata"][name] = scale["metadata"][name]
        obj["metadata"]["managedFields"] = to_parent(entries, managed, mappings, resource.api_version)
        return obj, True

    key = key_of(resource, target.namespace, target.name or "")
    written = await update(
        context, resource, key, mutation, options, subresource="scale", is_replacement=True
    )
    reported = [*warnings, *(written.warnings or ())]
    return object_answer(request, SCALE, _scale(paths, written.object)[0], warnings=reported)


def _managed(
    context: ServerContext, old: JsonObject, new: JsonObject, options: WriteOptions
) -> list[JsonObject]:
    new = new | {"metadata": {**new["metadata"], "managedFields": old["metadata"]["managedFields"]}}
    return managed_after_write(
        SCALE, old, new, manager=options.manager, subresource="scale", now=context.now()
    )


def _paths(resource: ResourceType) -> ScalePaths:
    if resource.scale is None:
        raise errors.not_found(resource.plural, resource.group, "")
    return resource.scale


def _check(resource: ResourceType, scale: JsonObject) -> None:
    """Of a built-in kind the Scale itself is checked, of a custom one what comes of it."""
    if resource.is_custom:
        return
    problems = list(non_negative("spec.replicas", (scale.get("spec") or {}).get("replicas")))
    if problems:
        raise errors.invalid("Scale", "autoscaling", scale["metadata"]["name"], problems)


def _mappings(context: ServerContext, resource: ResourceType) -> Mappings:
    """Where each version of the kind keeps its replicas."""
    if not resource.is_custom:
        return {resource.api_version: _paths(resource).spec}
    return {
        item.api_version: item.scale.spec if item.scale else None
        for item in context.registry
        if item.stored_as == resource.stored_as and item.is_custom
    }


def _scale(paths: ScalePaths, obj: JsonObject) -> tuple[JsonObject, bool]:
    try:
        return scale_of(paths, obj)
    except WrongValue as error:
        raise errors.internal(str(error)) from error


def _no_replicas(paths: ScalePaths) -> errors.ApiError:
    why = f'the spec replicas field "{paths.spec}" does not exist'
    return errors.ApiError(
        500, "InternalError", f"Internal error occurred: {why}", details={"causes": [{"message": why}]}
    )
