"""PATCH: merge, JSON, strategic, and server-side apply."""

from functools import partial

from kubekit.controller.evaluation import evaluated
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.admission import (
    Patch,
    apply_configuration,
    check_name_matches,
    check_namespace_matches,
    check_numeric_version,
    patch_reader,
    patched_object,
    read_apply_configuration,
)
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.object_store import WriteResult, create, update
from picokube.apiserver.printing.representations import also_warning, object_answer
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import media_type
from picokube.apiserver.protocol.messages import (
    Answer,
    JsonObject,
    Request,
    Target,
    WriteOptions,
    forbidden,
    invalid_options,
    write_options,
)

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
CUSTOM_TYPES = (JSON_PATCH, MERGE, APPLY_PATCH)


async def patch_object(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Change part of an object."""
    options = write_options(request, kind="PatchOptions")
    if request.parameter("force") is not None and media_type(request) != APPLY_PATCH:
        raise invalid_options(
            "PatchOptions", [forbidden("force", "may not be specified for non-apply patch")]
        )
    if media_type(request) == APPLY_PATCH:
        return await _applied(context, resource, target, request, options)
    read = patch_reader(resource, request)
    if read is not None:
        patch = await evaluated(read, size=options.size)
        return await _patched(context, resource, target, request, options, patch)
    if resource.is_custom:
        raise errors.unsupported_media_type(CUSTOM_TYPES)
    raise errors.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


async def _patched(
    context: ServerContext,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    patch: Patch,
) -> Answer:
    warnings: list[str] = []

    def mutation(old: JsonObject) -> tuple[JsonObject, bool]:
        warnings.clear()
        obj, reported = patched_object(context, resource, patch, old, options)
        warnings.extend(reported)
        obj.setdefault("metadata", {})
        check_name_matches(target, obj)
        check_namespace_matches(resource, target, obj)
        check_numeric_version(obj["metadata"].get("resourceVersion"))
        return obj, False

    key = key_of(resource, target.namespace, target.name or "")
    with also_warning(warnings):
        written = await update(
            context, resource, key, mutation, options, subresource=target.subresource, shares=True
        )
    reported = [*warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, data=written.data, warnings=reported)


async def _applied(
    context: ServerContext, resource: ResourceType, target: Target, request: Request, options: WriteOptions
) -> Answer:
    """Server-side apply: the object is created if it is not there."""
    read = partial(read_apply_configuration, resource, target, request, options)
    config, warnings = await evaluated(read, size=options.size)
    key = key_of(resource, target.namespace, target.name or "")
    if context.store.get(key) is None:
        if target.subresource:
            raise errors.not_found(resource.plural, resource.group, target.name or "")
        return await _apply_new(context, resource, target, request, options, config, warnings)
    written = await _apply_live(context, resource, target, options, config)
    return object_answer(request, resource, written.object, warnings=[*warnings, *(written.warnings or ())])


async def _apply_new(
    context: ServerContext,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    config: JsonObject,
    warnings: list[str],
) -> Answer:
    version = str(config["metadata"].pop("resourceVersion", None) or "")
    check_numeric_version(version)
    if uid := config["metadata"].get("uid"):
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(resource.plural, resource.group, target.name or "", why)
    apply = partial(apply_configuration, context, resource, None, config, options, "")
    obj = await evaluated(apply, size=options.size)
    if version and options.dry_run:
        obj["metadata"]["resourceVersion"] = version
    written = await create(context, resource, target.namespace, obj, options, managed=True)
    return object_answer(
        request, resource, written.object, status=201, warnings=[*warnings, *(written.warnings or ())]
    )


async def _apply_live(
    context: ServerContext, resource: ResourceType, target: Target, options: WriteOptions, config: JsonObject
) -> WriteResult:
    def mutation(old: JsonObject) -> tuple[JsonObject, bool]:
        return apply_configuration(context, resource, old, config, options, target.subresource), True

    key = key_of(resource, target.namespace, target.name or "")
    return await update(context, resource, key, mutation, options, subresource=target.subresource)
