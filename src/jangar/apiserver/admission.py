"""From a request's body to an object of a kind: the checks that come before any change. Knows no verb."""

from dataclasses import dataclass

from jangar.apiserver import errors
from jangar.apiserver.body import Decoded, decode_object
from jangar.apiserver.messages import Request
from jangar.apiserver.options import WriteOptions
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.apiserver.serving import Serving
from jangar.apiserver.target import Target
from jangar.apiserver.writing import strict_check


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
    decoded = decode_object(request, protobuf=protobuf)
    check_type(resource, decoded.object, request.body)
    found = typed(resource, decoded, options)
    check_namespace_matches(resource, target, found.object)
    return found


def typed(resource: ResourceType, decoded: Decoded, options: WriteOptions) -> Admitted:
    """Typed as its kind says; what the kind does not know is refused, warned of or dropped."""
    obj, unknown = resource.strategy.decode(decoded.object)
    warnings = strict_check(resource, unknown, decoded.strict_problems, options)
    return Admitted(object=obj, warnings=warnings)


def check_type(resource: ResourceType, obj: JsonObject, body: bytes) -> None:
    """The body says what it is, and it is what the path says."""
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    shown = body.decode("utf-8", "replace")
    if not isinstance(kind, str | None) or not isinstance(api_version, str | None):
        raise errors.bad_request(
            "couldn't get version/kind; json parse error: apiVersion and kind must be strings"
        )
    if not kind:
        if not resource.is_custom:
            obj["kind"] = kind = resource.kind
        else:
            raise errors.bad_request(f"Object 'Kind' is missing in '{shown}'")
    if not api_version:
        if not resource.is_custom:
            obj["apiVersion"] = api_version = resource.api_version
        else:
            raise errors.bad_request(f"Object 'apiVersion' is missing in '{shown}'")
    if (api_version, kind) != (resource.api_version, resource.kind):
        raise errors.bad_request(_mismatch(resource, api_version, kind))


def _mismatch(resource: ResourceType, api_version: str, kind: str) -> str:
    if api_version != resource.api_version and kind == resource.kind:
        return (
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    return f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


def check_namespace_matches(resource: ResourceType, target: Target, obj: JsonObject) -> None:
    namespace = obj.setdefault("metadata", {}).get("namespace")
    if not resource.namespaced:
        return
    if namespace and namespace != target.namespace:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name_matches(target: Target, obj: JsonObject) -> None:
    name = obj["metadata"].get("name")
    if name != target.name:
        raise errors.bad_request(
            f"the name of the object ({name or ''}) does not match the name on the URL ({target.name})"
        )
