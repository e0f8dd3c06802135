"""PATCH: merge, JSON, strategic, and server-side apply."""

from collections.abc import Callable
from typing import Any

import orjson

from jangar.apiserver import errors
from jangar.apiserver.admission import check_name_matches, check_namespace_matches, check_type
from jangar.apiserver.answers import object_answer
from jangar.apiserver.apply.json_patch import JsonPatchError, MalformedPatch, TooManyOperations, json_patch
from jangar.apiserver.apply.merge_patch import merge_patch
from jangar.apiserver.apply.server_side import ApplyConflict, ApplyTypeError, server_side_apply
from jangar.apiserver.apply.strategic import StrategicPatchError, strategic_merge
from jangar.apiserver.body import Decoded, decode_yaml, media_type, read_json
from jangar.apiserver.go_json import json_kind, json_problem
from jangar.apiserver.messages import Answer, Request
from jangar.apiserver.options import WriteOptions, forbidden, invalid_options, write_options
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.apiserver.serving import Serving, key_of
from jangar.apiserver.target import Target
from jangar.apiserver.writing import Written, create, strict_check, update
from jangar.schema import ErrorType, FieldError

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
CUSTOM_TYPES = (JSON_PATCH, MERGE, APPLY)


async def patch_object(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """Change part of an object."""
    options = write_options(request, kind="PatchOptions")
    if request.parameter("force") is not None and media_type(request) != APPLY:
        raise invalid_options(
            "PatchOptions", [forbidden("force", "may not be specified for non-apply patch")]
        )
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


def _read_patch(request: Request, kind: str, go_type: str) -> Any:
    """The patch itself; `kind` is what it must be."""
    try:
        patch = read_json(request.body)
    except errors.ApiError as error:
        raise errors.bad_request(f"error decoding patch: {json_problem(request.body)}") from error
    if json_kind(patch) != kind:
        raise errors.bad_request(
            f"error decoding patch: json: cannot unmarshal {json_kind(patch)} into Go value of type {go_type}"
        )
    return patch


def _merging(request: Request) -> Patch:
    patch = _read_patch(request, "object", "map[string]interface {}")
    return lambda old: merge_patch(old, patch)


def _operating(request: Request) -> Patch:
    operations = _read_patch(request, "array", "[]handlers.jsonPatchOp")

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
    patch = _read_patch(request, "object", "map[string]interface {}")

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
        obj, told = _typed(resource, found, options)
        warnings.extend(told)
        obj.setdefault("metadata", {})
        check_name_matches(target, obj)
        check_namespace_matches(resource, target, obj)
        version = obj["metadata"].get("resourceVersion")
        if version and not str(version).isdigit():
            raise errors.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
        return obj, False

    key = key_of(resource, target.namespace, target.name or "")
    written = await update(serving, resource, key, mutation, options, subresource=target.subresource)
    return object_answer(request, resource, written.object, warnings=[*warnings, *(written.warnings or ())])


def _typed(resource: ResourceType, found: JsonObject, options: WriteOptions) -> tuple[JsonObject, list[str]]:
    """The patched object as its kind is typed; what does not fit is refused with the whole of it."""
    shown = orjson.dumps(found).decode()
    try:
        check_type(resource, found, shown.encode())
        obj, unknown = resource.strategy.decode(found)
        return obj, strict_check(resource, unknown, [], options)
    except errors.ApiError as error:
        if error.code != 400:  # noqa: PLR2004 - only what cannot be read is the patch's fault
            raise
        why = error.message
        for words in ("cannot be handled as a ", "must be of type "):
            _, found_words, rest = why.partition(words)
            if found_words:
                why = rest.partition(": ")[2]
        why = why.rpartition(" ({")[0] if why.startswith("Object 'Kind'") else why
        problem = FieldError(type=ErrorType.INVALID, field="patch", bad_value=shown, detail=why)
        refused = errors.invalid("", "", "", [problem])
        details = {"causes": (refused.details or {}).get("causes", [])}
        raise errors.ApiError(422, "Invalid", refused.message, details=details) from error


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
