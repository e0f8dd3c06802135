"""What patches are made of: read, and worked out against an object, whatever they are patched into. Stores nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from picokube.apiserver.apply.go_text import plain
from picokube.apiserver.apply.json_patch import (
    JsonPatchError,
    MalformedPatch,
    TooManyOperations,
    json_patch,
    merge_patch,
)
from picokube.apiserver.apply.server_side import ApplyConflict, ApplyTypeError, named, server_side_apply
from picokube.apiserver.apply.strategic import StrategicPatchError, strategic_merge
from picokube.apiserver.gotypes.decoding import WrongType
from picokube.apiserver.kinds.object_meta import with_empty_texts
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.admission import check_name_matches, check_namespace_matches, check_type
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.object_store import strict_check
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import (
    Decoded,
    decode_yaml,
    duplicate_keys,
    json_kind,
    json_problem,
    read_json,
    read_yaml,
)
from picokube.apiserver.protocol.messages import JsonObject, Request
from picokube.apiserver.protocol.request_info import IGNORE, STRICT, Target, WriteOptions
from picokube.schema import ErrorType, FieldError, UnknownField
from picokube.schema.pruning import deep_copy

_OPERATION = ("op", "path", "from", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A change of an object."""

    patched: Callable[[JsonObject], Any]
    """From the object, which stays as it is, to what the patch makes of it, which may be anything and share parts."""
    strict_problems: Sequence[str] = ()
    """What a strict reader would refuse about the patch itself."""
    shown: str = ""
    """The patch in refusals; empty where these show the patched object instead."""


def read_merge_patch(request: Request) -> Patch:
    patch = _read(request, "object", "map[string]interface {}")
    return Patch(
        patched=lambda old: merge_patch(old, patch), strict_problems=duplicate_keys(request.body, patch)
    )


def read_json_patch(request: Request) -> Patch:
    operations = _read(request, "array", "[]handlers.jsonPatchOp")

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

    unknown = [
        f'unknown field "[{index}].{name}"'
        for index, item in enumerate(operations)
        if isinstance(item, dict)
        for name in item
        if name not in _OPERATION
    ]
    problems = [
        f"json patch {duplicate_key}"
        for duplicate_key in (*duplicate_keys(request.body, operations), *unknown)
    ]
    return Patch(patched=operate, strict_problems=problems)


def read_strategic_patch(request: Request, resource: ResourceType) -> Patch:
    patch = _read(request, "object", "map[string]interface {}", preface="")

    def merge(old: JsonObject) -> Any:
        try:
            return strategic_merge(deep_copy(old), patch, resource.schema)
        except TypeError as error:
            raise errors.bad_request(
                "the patch has a value of another type than the field it merges into"
            ) from error
        except StrategicPatchError as error:
            reason = {400: "BadRequest", 422: "Invalid"}.get(error.code, "")
            raise errors.ApiError(error.code, reason, str(error)) from error

    return Patch(patched=merge, strict_problems=duplicate_keys(request.body, patch), shown=plain(patch))


def _read(request: Request, kind: str, go_type: str, *, preface: str = "error decoding patch: ") -> Any:
    """The patch itself; `kind` is what it must be."""
    try:
        patch = read_json(request.body)
    except errors.ApiError as error:
        raise errors.bad_request(f"{preface}{json_problem(request.body)}") from error
    if json_kind(patch) != kind:
        why = f"json: cannot unmarshal {json_kind(patch)} into Go value of type {go_type}"
        raise errors.bad_request(f"{preface}{why}")
    return patch


def patched_object(
    serving: ServerContext, resource: ResourceType, patch: Patch, old: JsonObject, options: WriteOptions
) -> tuple[JsonObject, list[str]]:
    """The patched object as its kind is typed; what does not fit is refused."""
    found = patch.patched(old)
    if not isinstance(found, dict):
        raise errors.bad_request("the patched object is not a JSON object")
    option = orjson.OPT_SORT_KEYS if resource.is_custom else 0
    is_typed = (found.get("apiVersion"), found.get("kind")) == (resource.api_version, resource.kind)
    try:
        if not patch.shown and not is_typed:
            check_type(serving.registry, resource, found, orjson.dumps(found, option=option))
        obj, unknown = _decoded_changes(resource, found, old)
        if patch.shown:
            # A strategic patch merges structs of this kind, whatever it says that they are.
            obj |= {"apiVersion": resource.api_version, "kind": resource.kind}
        return obj, strict_check(resource, unknown, list(patch.strict_problems), options)
    except errors.ApiError as error:
        if error.code != 400:  # noqa: PLR2004 - only what cannot be read is the patch's fault
            raise
        why = _convert_problem(error) if patch.shown else _decode_problem(error)
        shown = patch.shown or orjson.dumps(found, option=option).decode()
        problem = FieldError(type=ErrorType.INVALID, field="patch", bad_value=shown, detail=why)
        refused = errors.invalid("", "", "", [problem])
        details = {"causes": (refused.details or {}).get("causes", [])}
        raise errors.ApiError(422, "Invalid", refused.message, details=details) from error


def _decoded_changes(
    resource: ResourceType, found: JsonObject, old: JsonObject
) -> tuple[JsonObject, list[UnknownField]]:
    """Decoded, but for the parts that the patch left as they are stored: those were decoded when they were stored."""
    obj, unknown = resource.strategy.decode(found, old)
    meta = old["metadata"]
    if obj.get("metadata") is meta:
        # What the server guards is set in place.
        obj["metadata"] = old["metadata"].copy()
    return obj, unknown


def _decode_problem(error: errors.ApiError) -> str:
    """Why a patched object cannot be read, without what says which kind it should be."""
    why = error.message
    for words in ("cannot be handled as a ", "must be of type "):
        _, found_words, rest = why.partition(words)
        if found_words:
            why = rest.partition(": ")[2]
    return why.rpartition(" ({")[0] if why.startswith("Object 'Kind'") else why


def _convert_problem(error: errors.ApiError) -> str:
    """The same of a strategic patch, whose result is never written as JSON."""
    if isinstance(error.__cause__, WrongType):
        return error.__cause__.restoring
    why = _decode_problem(error)
    return f"error decoding from json: {why}" if why.startswith("illegal base64") else why


def read_apply_configuration(
    resource: ResourceType, target: Target, request: Request, options: WriteOptions
) -> tuple[JsonObject, list[str]]:
    """What a manager says it wants, and what it is warned of."""
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
    decoded = _configuration(request)
    config = decoded.object
    _check_applied_type(resource, config)
    config.setdefault("metadata", {})
    check_name_matches(target, config)
    check_namespace_matches(resource, target, config)
    if config["metadata"].get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")
    if decoded.strict_problems and options.validation == STRICT:
        problems = "\n  ".join(decoded.strict_problems)
        raise errors.bad_request(
            f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {problems}"
        )
    return config, decoded.strict_problems if options.validation != IGNORE else []


def _check_applied_type(resource: ResourceType, config: JsonObject) -> None:
    api_version, kind = config.get("apiVersion") or "", config.get("kind") or ""
    if (api_version, kind) != (resource.api_version, resource.kind):
        group, _, version = str(api_version).rpartition("/")
        raise errors.bad_request(f"invalid object type: {group}/{version}, Kind={kind}")


def _configuration(request: Request) -> Decoded:
    if request.body.lstrip().startswith(b"{"):
        return _json_config(request)
    try:
        return decode_yaml(request.body)
    except errors.ApiError as error:
        if not error.message.startswith("yaml: "):
            return _not_a_map(request, error)
        message = f"error decoding YAML: error converting YAML to JSON: {error.message}"
        raise errors.bad_request(message) from error


def _not_a_map(request: Request, error: errors.ApiError) -> Decoded:
    """Nothing at all is an object without a type; anything else cannot be one."""
    document, _ = read_yaml(request.body)
    if document is None:
        return Decoded(object={})
    raise errors.bad_request(
        "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
        f"{json_kind(document)} into Go value of type map[string]interface {{}}"
    ) from error


def _json_config(request: Request) -> Decoded:
    document = read_json(request.body)
    if not isinstance(document, dict):
        raise errors.bad_request("error decoding YAML: the applied configuration is not an object")
    return Decoded(object=document)


def apply_configuration(
    serving: ServerContext,
    resource: ResourceType,
    live: JsonObject | None,
    config: JsonObject,
    options: WriteOptions,
    subresource: str,
) -> JsonObject:
    """What applying makes of the live object; conflicts and values that do not fit are refused."""
    try:
        found = server_side_apply(
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
    return with_empty_texts(found) if resource.is_custom else _struct(resource, config, found)


def _struct(resource: ResourceType, config: JsonObject, found: JsonObject) -> JsonObject:
    """An object of a built-in kind, as it is typed."""
    try:
        return resource.strategy.decode(found)[0]
    except errors.ApiError as error:
        kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        raise errors.internal(
            f"failed to convert new object ({named(resource, config)}) to proper version: "
            f"unable to convert unstructured object to {kind}: {_convert_problem(error)}"
        ) from error
