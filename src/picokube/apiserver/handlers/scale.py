"""GET, PUT and PATCH of the scale of an object: an object of another kind, made of fields of the first."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import orjson

from kubekit.controller.evaluation import evaluated
from picokube.apiserver import errors
from picokube.apiserver.admission import admitted, check_name_matches, check_namespace_matches
from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.body import media_type
from picokube.apiserver.builtin_data import LazySchema
from picokube.apiserver.handlers.patch import APPLY, CUSTOM_TYPES, STRATEGIC
from picokube.apiserver.messages import Answer, Request
from picokube.apiserver.object_store import update
from picokube.apiserver.options import WriteOptions, write_options
from picokube.apiserver.patching import (
    applied,
    applied_configuration,
    merging,
    operating,
    strategically,
    typed_patched,
)
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.responses import object_answer
from picokube.apiserver.scale_managers import Mappings, to_parent, to_scale
from picokube.apiserver.scaling import ScalePaths, WrongValue, scale_of, with_replicas
from picokube.apiserver.server_context import Serving, key_of
from picokube.apiserver.stored_forms import current
from picokube.apiserver.strategies.checks import non_negative
from picokube.apiserver.strategies.kind import Kind

UNSET = -(2**31)
"""Stands for replicas that nobody stated yet."""
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


async def get_scale(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    name = target.name or ""
    stored = serving.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    paths = _paths(resource)
    scale, is_stated = _scale(paths, orjson.loads(current(resource, stored).data))
    if not is_stated:
        raise _no_replicas(paths)
    return object_answer(request, SCALE, scale)


async def update_scale(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    options = write_options(request, kind="UpdateOptions")
    kind = replace(SCALE, namespaced=resource.namespaced)
    found = await admitted(serving, kind, target, request, options)
    check_name_matches(target, found.object)

    def change(old: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
        return found.object, _managed(serving, old, found.object, options)

    return await _scaled(serving, resource, target, request, options, change, found.warnings)


async def patch_scale(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    options = write_options(request, kind="PatchOptions")
    kind = replace(SCALE, namespaced=resource.namespaced)
    media = media_type(request)
    if media not in CUSTOM_TYPES and (media != STRATEGIC or resource.is_custom):
        raise errors.unsupported_media_type(CUSTOM_TYPES)
    warnings: list[str] = []
    if media == APPLY:
        configured = partial(applied_configuration, kind, target, request, options)
        config, warnings = await evaluated(configured, size=options.size)

        def change(old: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
            merged = applied(serving, kind, old, config, options, "scale")
            return kind.strategy.decode(merged)[0], merged["metadata"].get("managedFields") or []

        return await _scaled(serving, resource, target, request, options, change, warnings)
    match media:
        case "application/merge-patch+json":
            read = partial(merging, request)
        case "application/strategic-merge-patch+json":
            read = partial(strategically, request, kind)
        case _:
            read = partial(operating, request)
    patch = await evaluated(read, size=options.size)

    def patched(old: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
        warnings.clear()
        scale, reported = typed_patched(serving, kind, patch, orjson.loads(orjson.dumps(old)), options)
        warnings.extend(reported)
        check_name_matches(target, scale)
        check_namespace_matches(kind, target, scale)
        return scale, _managed(serving, old, scale, options)

    return await _scaled(serving, resource, target, request, options, patched, warnings)


async def _scaled(
    serving: Serving,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    change: Change,
    warnings: list[str],
) -> Answer:
    paths = _paths(resource)
    mappings = _mappings(serving, resource)

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
        serving, resource, key, mutation, options, subresource="scale", is_replacement=True
    )
    reported = [*warnings, *(written.warnings or ())]
    return object_answer(request, SCALE, _scale(paths, written.object)[0], warnings=reported)


def _managed(serving: Serving, old: JsonObject, new: JsonObject, options: WriteOptions) -> list[JsonObject]:
    new = new | {"metadata": {**new["metadata"], "managedFields": old["metadata"]["managedFields"]}}
    return managed_after_write(
        SCALE, old, new, manager=options.manager, subresource="scale", now=serving.now()
    )


def _paths(resource: ResourceType) -> ScalePaths:
    if resource.scale is None:
        raise errors.not_found(resource.plural, resource.group, "")
    return resource.scale


def _check(resource: ResourceType, scale: JsonObject) -> None:
    """Of a built-in kind the Scale itself is checked, of a custom one what comes of it."""
    if resource.is_custom:
        return
    problems = non_negative("spec.replicas", (scale.get("spec") or {}).get("replicas"))
    if problems:
        raise errors.invalid("Scale", "autoscaling", scale["metadata"]["name"], problems)


def _mappings(serving: Serving, resource: ResourceType) -> Mappings:
    """Where each version of the kind keeps its replicas."""
    if not resource.is_custom:
        return {resource.api_version: _paths(resource).spec}
    return {
        item.api_version: item.scale.spec if item.scale else None
        for item in serving.registry
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
