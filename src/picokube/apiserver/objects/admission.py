"""From the body of a request to an object of a kind: decoding, type checks and patches. Stores nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

import orjson

from kubekit.controller.evaluation import evaluated
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
from picokube.apiserver.kinds.resources import Registry, ResourceType
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.object_store import strict_check
from picokube.apiserver.printing.representations import warning_headers
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import (
    Decoded,
    decode_object,
    decode_yaml,
    duplicate_keys,
    json_kind,
    json_problem,
    media_type,
    read_json,
    read_yaml,
)
from picokube.apiserver.protocol.go_text import plain
from picokube.apiserver.protocol.messages import IGNORE, STRICT, JsonObject, Request, Target, WriteOptions
from picokube.schema import ErrorType, FieldError, UnknownField
from picokube.schema.pruning import deep_copy

SHOWN_START = 30
CRD_GROUP = "apiextensions.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedObject:
    """An object of the right kind, typed, and what its writer is warned of."""

    object: JsonObject
    warnings: list[str]


async def decode_request(
    context: ServerContext,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    *,
    any_kind: bool = False,
) -> DecodedObject:
    """The object in the body of a create or update.

    With `any_kind` a custom object may say that it is of another kind: an update finds that last, after a conflict.
    """
    read = partial(_decode, context, resource, target, request, options, any_kind=any_kind)
    return await evaluated(read, size=options.size)


def _decode(
    context: ServerContext,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    *,
    any_kind: bool,
) -> DecodedObject:
    protobuf = None if resource.is_custom else context.protobuf
    try:
        decoded = decode_object(request, protobuf=protobuf)
    except errors.ApiError as error:
        if error.code != HTTPStatus.BAD_REQUEST:
            raise
        raise _not_recognized(resource, error.message, request.body) from error
    check_type(context.registry, resource, decoded.object, request.body)
    if resource.is_custom:
        _check_custom_type(context.registry, resource, decoded, options, any_kind=any_kind)
    if any_kind and resource.is_custom and decoded.object["kind"] != resource.kind:
        found = DecodedObject(object=resource.strategy.decode(decoded.object)[0], warnings=[])
    else:
        found = typed(resource, decoded, options)
    check_namespace_matches(resource, target, found.object)
    return found


def _not_recognized(resource: ResourceType, why: str, body: bytes) -> errors.ApiError:
    """A body that cannot be read is shown by its beginning."""
    start = body[:SHOWN_START]
    shown = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    shown += " ..." if len(body) > SHOWN_START else ""
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {why} ({shown or '<empty>'})"
    )


def typed(resource: ResourceType, decoded: Decoded, options: WriteOptions) -> DecodedObject:
    """The object decoded by its kind; unknown fields are refused, reported as warnings or dropped."""
    obj, unknown = resource.strategy.decode(decoded.object)
    warnings = strict_check(resource, unknown, decoded.strict_problems, options)
    return DecodedObject(object=obj, warnings=warnings)


def check_type(registry: Registry, resource: ResourceType, obj: JsonObject, body: bytes) -> None:
    """Check apiVersion and kind of a body against the path; for custom kinds, only that they are present."""
    kind, api_version = obj.get("kind") or "", obj.get("apiVersion") or ""
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str):
            why = f"json: cannot unmarshal {json_kind(value)} into Go struct field .{name} of type string"
            raise _not_recognized(resource, f"couldn't get version/kind; json parse error: {why}", body)
    if not resource.is_custom:
        _check_built_in_type(registry, resource, obj)
    elif not kind:
        shown = body.decode("utf-8", "replace")
        raise _not_recognized(resource, f"Object 'Kind' is missing in '{shown}'", body)


def _check_custom_type(
    registry: Registry, resource: ResourceType, decoded: Decoded, options: WriteOptions, *, any_kind: bool
) -> None:
    obj = decoded.object
    kind, api_version = obj["kind"], obj.get("apiVersion") or ""
    if api_version != resource.api_version:
        warnings = _of_another_version(registry, resource, api_version, decoded, options)
        raise _wrong_version(resource, api_version, warnings)
    if kind != resource.kind and not any_kind:
        problem = FieldError(
            type=ErrorType.INVALID, field="kind", bad_value=kind, detail=f"must be {resource.kind}"
        )
        raise errors.invalid(kind, resource.group, metadata_of(obj).get("name") or "", [problem])


def _wrong_version(resource: ResourceType, stated: str, warnings: Sequence[str] = ()) -> errors.ApiError:
    message = f"the API version in the data ({stated}) does not match the expected API version ({resource.api_version})"
    return errors.ApiError(400, "BadRequest", message, headers=warning_headers(warnings))


def _of_another_version(
    registry: Registry, resource: ResourceType, stated: str, decoded: Decoded, options: WriteOptions
) -> list[str]:
    """What the writer is warned of who sent the right kind in another version, which knows other fields or none."""
    obj = decoded.object
    group, _, version = stated.rpartition("/")
    if (group, obj["kind"]) != (resource.group, resource.kind):
        return []
    other = registry.by_kind(stated, obj["kind"])
    if other is not None:
        unknown = other.strategy.decode(obj)[1]
    else:
        known: JsonObject = {name: obj[name] for name in ("apiVersion", "kind", "metadata") if name in obj}
        unknown = [
            *(item for item in resource.strategy.decode(known)[1] if item.path[0] == "metadata"),
            *(UnknownField(path=(name,)) for name in sorted(obj.keys() - known.keys())),
        ]
    return strict_check(replace(resource, version=version), unknown, decoded.strict_problems, options)


def _check_built_in_type(registry: Registry, resource: ResourceType, obj: JsonObject) -> None:
    obj["kind"] = kind = obj.get("kind") or resource.kind
    obj["apiVersion"] = api_version = obj.get("apiVersion") or resource.api_version
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    if kind == resource.kind and registry.by_kind(api_version, kind) is not None:
        raise _wrong_version(resource, api_version)
    version = api_version.rpartition("/")[2]
    why = _conversion_problem(registry, resource, obj)
    raise errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {why}')


def _conversion_problem(registry: Registry, resource: ResourceType, obj: JsonObject) -> str:
    """An object of another known kind is read as that kind before it is found not to be of this one."""
    api_version, kind = obj["apiVersion"], obj["kind"]
    other = registry.by_kind(api_version, kind)
    if other is None or other.is_custom or (other.group == CRD_GROUP) != (resource.group == CRD_GROUP):
        return f'no kind "{kind}" is registered for version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
    try:
        other.strategy.decode(obj)
    except errors.ApiError as error:
        return error.message.partition(f"cannot be handled as a {kind}: ")[2]
    package = "core" if resource.group in ("", "events.k8s.io") else resource.group.partition(".")[0]
    return f"converting ({other.version}.{kind}) to ({package}.{resource.kind}): unknown conversion"


def metadata_of(obj: JsonObject) -> JsonObject:
    """The metadata of an object that was sent; it must be an object itself."""
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    if not isinstance(meta, dict):
        raise errors.bad_request(
            f"json: cannot unmarshal {json_kind(meta)} into Go struct field .metadata of type v1.ObjectMeta"
        )
    return meta


def check_namespace_matches(resource: ResourceType, target: Target, obj: JsonObject) -> None:
    namespace = metadata_of(obj).get("namespace")
    if not resource.namespaced:
        return
    if namespace and namespace != target.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_numeric_version(version: Any) -> None:
    if version and not str(version).isdigit():
        raise errors.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')


def check_name_matches(target: Target, obj: JsonObject) -> None:
    name = metadata_of(obj).get("name")
    if not name:
        raise errors.bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
        )
    if name != target.name:
        raise errors.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )


_OPERATION = ("op", "path", "from", "value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """A change of an object."""

    patched: Callable[[JsonObject], Any]
    """From the object, which is not changed, to the patched value, which may share parts with it."""
    strict_problems: Sequence[str] = ()
    """What a strict reader would refuse about the patch itself."""
    shown: str = ""
    """The patch in refusals; empty where these show the patched object instead."""


def read_merge_patch(request: Request) -> Patch:
    patch = _read_patch(request, "object", "map[string]interface {}")
    return Patch(
        patched=lambda old: merge_patch(old, patch), strict_problems=duplicate_keys(request.body, patch)
    )


def read_json_patch(request: Request) -> Patch:
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
    patch = _read_patch(request, "object", "map[string]interface {}", preface="")

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


def patch_reader(resource: ResourceType, request: Request) -> Callable[[], Patch] | None:
    """The function that reads the patch of a request; None for a media type that this kind has no patches of."""
    match media_type(request):
        case "application/merge-patch+json":
            return partial(read_merge_patch, request)
        case "application/json-patch+json":
            return partial(read_json_patch, request)
        case "application/strategic-merge-patch+json" if not resource.is_custom:
            return partial(read_strategic_patch, request, resource)
        case _:
            return None


def _read_patch(request: Request, kind: str, go_type: str, *, preface: str = "error decoding patch: ") -> Any:
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
    context: ServerContext, resource: ResourceType, patch: Patch, old: JsonObject, options: WriteOptions
) -> tuple[JsonObject, list[str]]:
    """The patched object as its kind is typed; what does not fit is refused."""
    found = patch.patched(old)
    if not isinstance(found, dict):
        raise errors.bad_request("the patched object is not a JSON object")
    option = orjson.OPT_SORT_KEYS if resource.is_custom else 0
    is_typed = (found.get("apiVersion"), found.get("kind")) == (resource.api_version, resource.kind)
    try:
        if not patch.shown and not is_typed:
            check_type(context.registry, resource, found, orjson.dumps(found, option=option))
        obj, unknown = _decoded_changes(resource, found, old)
        if patch.shown:
            # A strategic patch merges structs of this kind, whatever kind it states.
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
    """Why a patched object cannot be decoded, without the part of the message that names the expected kind."""
    why = error.message
    for words in ("cannot be handled as a ", "must be of type "):
        _, found_words, rest = why.partition(words)
        if found_words:
            why = rest.partition(": ")[2]
    return why.rpartition(" ({")[0] if why.startswith("Object 'Kind'") else why


def _convert_problem(error: errors.ApiError) -> str:
    """The same for a strategic patch, whose result is converted, not decoded from JSON."""
    if isinstance(error.__cause__, WrongType):
        return error.__cause__.restoring
    why = _decode_problem(error)
    return f"error decoding from json: {why}" if why.startswith("illegal base64") else why


def read_apply_configuration(
    resource: ResourceType, target: Target, request: Request, options: WriteOptions
) -> tuple[JsonObject, list[str]]:
    """The configuration that a manager applies, and warnings about it."""
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
    context: ServerContext,
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
            now=context.now(),
        )
    except ApplyConflict as error:
        raise errors.ApiError(409, "Conflict", error.message, details={"causes": error.causes}) from error
    except ApplyTypeError as error:
        raise errors.internal(str(error)) from error
    return with_empty_texts(found) if resource.is_custom else _struct(resource, config, found)


def _struct(resource: ResourceType, config: JsonObject, found: JsonObject) -> JsonObject:
    """An applied object of a built-in kind, decoded."""
    try:
        return resource.strategy.decode(found)[0]
    except errors.ApiError as error:
        kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
        raise errors.internal(
            f"failed to convert new object ({named(resource, config)}) to proper version: "
            f"unable to convert unstructured object to {kind}: {_convert_problem(error)}"
        ) from error
