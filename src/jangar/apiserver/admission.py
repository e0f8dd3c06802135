"""From a request's body to an object of a kind: the checks that come before any change. Knows no verb."""

from dataclasses import dataclass

from jangar.apiserver import errors
from jangar.apiserver.body import Decoded, decode_object
from jangar.apiserver.go_json import json_kind
from jangar.apiserver.messages import Request
from jangar.apiserver.options import WriteOptions
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.apiserver.serving import Serving
from jangar.apiserver.target import Target
from jangar.apiserver.writing import strict_check
from jangar.schema import ErrorType, FieldError

SHOWN_START = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """An object of the right kind, typed, and what its writer is warned of."""

    object: JsonObject
    warnings: list[str]


def admitted(
    serving: Serving, resource: ResourceType, target: Target, request: Request, options: WriteOptions
) -> Admitted:
    """The object in the body of a create or update."""
    protobuf = None if resource.is_custom else serving.protobuf
    try:
        decoded = decode_object(request, protobuf=protobuf)
    except errors.ApiError as error:
        raise _unrecognized(resource, request, error) from error
    check_type(resource, decoded.object, request.body)
    found = typed(resource, decoded, options)
    check_namespace_matches(resource, target, found.object)
    return found


def _unrecognized(resource: ResourceType, request: Request, error: errors.ApiError) -> errors.ApiError:
    """A body that cannot be read is shown by its beginning."""
    if error.code != 400:  # noqa: PLR2004 - 415 says enough
        return error
    return _not_recognized(resource, error.message, request.body)


def _not_recognized(resource: ResourceType, why: str, body: bytes) -> errors.ApiError:
    start = body[:SHOWN_START]
    shown = start.decode("utf-8", "replace") if body.startswith(b"{") else start.hex()
    shown += " ..." if len(body) > SHOWN_START else ""
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {resource.kind}): {why} ({shown or '<empty>'})"
    )


def typed(resource: ResourceType, decoded: Decoded, options: WriteOptions) -> Admitted:
    """Typed as its kind says; what the kind does not know is refused, warned of or dropped."""
    obj, unknown = resource.strategy.decode(decoded.object)
    warnings = strict_check(resource, unknown, decoded.strict_problems, options)
    return Admitted(object=obj, warnings=warnings)


def check_type(resource: ResourceType, obj: JsonObject, body: bytes) -> None:
    """The body says what it is, and it is what the path says."""
    kind, api_version = obj.get("kind") or "", obj.get("apiVersion") or ""
    for name, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str):
            why = f"json: cannot unmarshal {json_kind(value)} into Go struct field .{name} of type string"
            raise _not_recognized(resource, f"couldn't get version/kind; json parse error: {why}", body)
    if resource.is_custom:
        _check_custom_type(resource, obj, kind, api_version, body)
    else:
        _check_built_in_type(resource, obj, kind, api_version)


def _check_custom_type(
    resource: ResourceType, obj: JsonObject, kind: str, api_version: str, body: bytes
) -> None:
    if not kind:
        shown = body.decode("utf-8", "replace")
        raise _not_recognized(resource, f"Object 'Kind' is missing in '{shown}'", body)
    if api_version != resource.api_version:
        raise errors.bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    if kind != resource.kind:
        problem = FieldError(
            type=ErrorType.INVALID, field="kind", bad_value=kind, detail=f"must be {resource.kind}"
        )
        name = (obj.get("metadata") or {}).get("name") or ""
        raise errors.invalid(kind, resource.group, name, [problem])


def _check_built_in_type(resource: ResourceType, obj: JsonObject, kind: str, api_version: str) -> None:
    obj["kind"] = kind = kind or resource.kind
    obj["apiVersion"] = api_version = api_version or resource.api_version
    if (api_version, kind) != (resource.api_version, resource.kind):
        version = api_version.rpartition("/")[2]
        raise errors.bad_request(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: no kind "{kind}" is registered for '
            f'version "{api_version}" in scheme "pkg/runtime/scheme.go:111"'
        )


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
