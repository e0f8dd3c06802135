"""From a request's body to an object of a kind: the checks that come before any change. Knows no verb."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

from kubekit.controller.evaluation import evaluated
from picokube.apiserver.kinds.registry import Registry
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.object_store import strict_check
from picokube.apiserver.printing.responses import warning_headers
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import Decoded, decode_object, json_kind
from picokube.apiserver.protocol.messages import JsonObject, Request
from picokube.apiserver.protocol.request_info import Target, WriteOptions
from picokube.schema import ErrorType, FieldError, UnknownField

SHOWN_START = 30
CRD_GROUP = "apiextensions.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedObject:
    """An object of the right kind, typed, and what its writer is warned of."""

    object: JsonObject
    warnings: list[str]


async def decode_request(
    serving: ServerContext,
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
    read = partial(_read, serving, resource, target, request, options, any_kind=any_kind)
    return await evaluated(read, size=options.size)


def _read(
    serving: ServerContext,
    resource: ResourceType,
    target: Target,
    request: Request,
    options: WriteOptions,
    *,
    any_kind: bool,
) -> DecodedObject:
    protobuf = None if resource.is_custom else serving.protobuf
    try:
        decoded = decode_object(request, protobuf=protobuf)
    except errors.ApiError as error:
        if error.code != HTTPStatus.BAD_REQUEST:
            raise
        raise _not_recognized(resource, error.message, request.body) from error
    check_type(serving.registry, resource, decoded.object, request.body)
    if resource.is_custom:
        _check_custom_type(serving.registry, resource, decoded, options, any_kind=any_kind)
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
    """Typed as its kind says; what the kind does not know is refused, warned of or dropped."""
    obj, unknown = resource.strategy.decode(decoded.object)
    warnings = strict_check(resource, unknown, decoded.strict_problems, options)
    return DecodedObject(object=obj, warnings=warnings)


def check_type(registry: Registry, resource: ResourceType, obj: JsonObject, body: bytes) -> None:
    """The body says what it is. A built-in object is what the path says; whether a custom one is, comes later."""
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
