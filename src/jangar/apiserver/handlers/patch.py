"""PATCH: merge, JSON, strategic, and server-side apply."""

from collections.abc import Callable
from typing import Any

from jangar.apiserver import errors
from jangar.apiserver.admission import check_name_matches, check_namespace_matches, check_type
from jangar.apiserver.answers import object_answer
from jangar.apiserver.apply.json_patch import JsonPatchError, MalformedPatch, TooManyOperations, json_patch
from jangar.apiserver.apply.merge_patch import merge_patch
from jangar.apiserver.apply.server_side import ApplyConflict, ApplyTypeError, server_side_apply
from jangar.apiserver.apply.strategic import StrategicPatchError, strategic_merge
from jangar.apiserver.body import Decoded, decode_yaml, media_type, read_json
from jangar.apiserver.messages import Answer, Request
from jangar.apiserver.options import STRICT, WriteOptions, write_options
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.apiserver.serving import Serving, key_of
from jangar.apiserver.target import Target
from jangar.apiserver.writing import Written, create, strict_check, update

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
CUSTOM_TYPES = (JSON_PATCH, MERGE, APPLY)


async def patch_object(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """Change part of an object."""
    options = write_options(request, kind="PatchOptions")
    match media_type(request):
        case "application/merge-patch+json":
            return await _patched(serving, resource, target, request, options, _merging(request))
        case "application/json-patch+json":
            return await _patched(serving, resource, target, request, options, _operating(request))
        case "application/strategic-merge-patch+json" if not resource.is_custom:
            return await _patched(
                serving, resource, target, request, options, _strategically(request, resource)
            )
        case "application/apply-patch+yaml":
            return await _applied(serving, resource, target, request, options)
        case _:
            if resource.is_custom:
                raise errors.unsupported_media_type(CUSTOM_TYPES)
            raise errors.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


Patch = Callable[[JsonObject], Any]


def _merging(request: Request) -> Patch:
    patch = read_json(request.body)
    if not isinstance(patch, dict):
        raise errors.bad_request("error decoding patch: the merge patch is not a JSON object")
    return lambda old: merge_patch(old, patch)


def _operating(request: Request) -> Patch:
    operations = read_json(request.body)
    if not isinstance(operations, list):
        raise errors.bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
        )

    def operate(old: JsonObject) -> Any:
        try:
            return json_patch(old, operations)
        except TooManyOperations as error:
            raise errors.ApiError(413, "RequestEntityTooLarge", str(error)) from error
        except MalformedPatch as error:
            raise errors.bad_request(f"error decoding patch: {error}") from error
        except JsonPatchError as error:
            raise errors.ApiError(
                422, "Invalid", "the server rejected our request due to an error in our request", details={}
            ) from error

    return operate


def _strategically(request: Request, resource: ResourceType) -> Patch:
    patch = read_json(request.body)
    if not isinstance(patch, dict):
        raise errors.bad_request("error decoding patch: the strategic merge patch is not a JSON object")

    def merge(old: JsonObject) -> Any:
        try:
            return strategic_merge(old, patch, resource.schema)
        except StrategicPatchError as error:
            reason = {400: "BadRequest", 422: "Invalid"}.get(error.code, "")
            raise errors.ApiError(error.code, reason, str(error)) from error

    return merge


async def _patched(
    serving: Serving,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    patch: Patch,
) -> Answer:
    warnings: list[str] = []

    def mutation(old: JsonObject) -> tuple[JsonObject, bool]:
        warnings.clear()
        found = patch(old)
        if not isinstance(found, dict):
            raise errors.bad_request("the patched object is not a JSON object")
        obj, unknown = resource.strategy.decode(found)
        warnings.extend(_patch_strict_check(resource, obj, unknown, options))
        if (obj.get("apiVersion"), obj.get("kind")) != (resource.api_version, resource.kind):
            check_type(resource, obj, b"")
        if not obj.get("metadata", {}).get("name") or obj["metadata"]["name"] != target.name:
            check_name_matches(target, obj)
        check_namespace_matches(resource, target, obj)
        return obj, False

    key = key_of(resource, target.namespace, target.name or "")
    written = await update(serving, resource, key, mutation, options, subresource=target.subresource)
    return object_answer(request, resource, written.object, warnings=[*warnings, *(written.warnings or ())])


def _patch_strict_check(
    resource: ResourceType, obj: JsonObject, unknown: list[Any], options: WriteOptions
) -> list[str]:
    try:
        return strict_check(resource, unknown, [], options)
    except errors.ApiError as error:
        if options.validation != STRICT:
            raise
        why = error.message.partition(": ")[2]
        del obj
        message = f' "" is invalid: patch: Invalid value: "": {why}'
        raise errors.ApiError(422, "Invalid", message, details={"causes": []}) from error


async def _applied(
    serving: Serving, resource: ResourceType, target: Target, request: Request, options: WriteOptions
) -> Answer:
    """Server-side apply: the object is created if it is not there."""
    if not request.parameter("fieldManager"):
        raise errors.ApiError(
            422,
            "Invalid",
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
            details={
                "group": "meta.k8s.io",
                "kind": "PatchOptions",
                "causes": [
                    {
                        "reason": "FieldValueRequired",
                        "message": "Required value: is required for apply patch",
                        "field": "fieldManager",
                    }
                ],
            },
        )
    decoded = (
        decode_yaml(request.body) if not request.body.lstrip().startswith(b"{") else _json_config(request)
    )
    config = decoded.object
    check_type(resource, config, request.body)
    config.setdefault("metadata", {}).setdefault("name", target.name)
    check_name_matches(target, config)
    check_namespace_matches(resource, target, config)
    if config["metadata"].get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")
    warnings = strict_check(resource, [], decoded.strict_problems, options)
    key = key_of(resource, target.namespace, target.name or "")
    if serving.store.get(key) is None:
        if target.subresource:
            raise errors.not_found(resource.plural, resource.group, target.name or "")
        return await _apply_new(serving, resource, target, request, options, config, warnings)
    written = await _apply_live(serving, resource, target, options, config)
    return object_answer(request, resource, written.object, warnings=[*warnings, *(written.warnings or ())])


def _json_config(request: Request) -> Decoded:
    document = read_json(request.body)
    if not isinstance(document, dict):
        raise errors.bad_request("error decoding YAML: the applied configuration is not an object")
    return Decoded(object=document)


async def _apply_new(
    serving: Serving,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    config: JsonObject,
    warnings: list[str],
) -> Answer:
    config["metadata"].pop("resourceVersion", None)
    obj = server_side_apply(
        resource,
        None,
        config,
        manager=options.manager,
        force=options.force,
        subresource="",
        now=serving.now(),
    )
    written = await create(serving, resource, target.namespace, obj, options, managed=True)
    return object_answer(
        request, resource, written.object, status=201, warnings=[*warnings, *(written.warnings or ())]
    )


async def _apply_live(
    serving: Serving, resource: ResourceType, target: Target, options: WriteOptions, config: JsonObject
) -> Written:
    def mutation(old: JsonObject) -> tuple[JsonObject, bool]:
        merged = _merged(serving, resource, old, config, options, target.subresource)
        return resource.strategy.decode(merged)[0], True

    key = key_of(resource, target.namespace, target.name or "")
    return await update(serving, resource, key, mutation, options, subresource=target.subresource)


def _merged(
    serving: Serving,
    resource: ResourceType,
    live: JsonObject | None,
    config: JsonObject,
    options: WriteOptions,
    subresource: str,
) -> JsonObject:
    """What applying makes of the live object; conflicts and values that do not fit are refused."""
    try:
        return server_side_apply(
            resource,
            live,
            config,
            manager=options.manager,
            force=options.force,
            subresource=subresource,
            now=serving.now(),
        )
    except ApplyConflict as error:
        raise errors.ApiError(409, "Conflict", error.message, details={"causes": error.causes}) from error
    except ApplyTypeError as error:
        raise errors.internal(str(error)) from error
