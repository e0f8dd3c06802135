"""Errors as `Status` objects of Kubernetes: codes, reasons and messages.

ApiError            anything that is answered with a Status
└─ Expired          410: the requested history was compacted
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from picokube.schema import FieldError

JsonObject = dict[str, Any]
RETRY_SECONDS = 1


class ApiError(Exception):
    """A request that fails: answered with a Status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: JsonObject | None = None,
        headers: Sequence[tuple[str, str]] = (),
        metadata: JsonObject | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.metadata = metadata or {}
        self.details = details
        self.headers = tuple(headers)

    def status(self) -> JsonObject:
        """The body of the answer."""
        body: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


class Expired(ApiError):
    """The requested history was compacted: the client must list again."""

    def __init__(self, message: str, *, metadata: JsonObject | None = None) -> None:
        super().__init__(HTTPStatus.GONE, "Expired", message, metadata=metadata)


def qualified(plural: str, group: str) -> str:
    """`jobs.batch`, or the plural alone in the core group, as messages name a resource."""
    return f"{plural}.{group}" if group else plural


def _details(plural: str, group: str, name: str, **more: Any) -> JsonObject:
    found: JsonObject = {"name": name} if name else {}
    if group:
        found["group"] = group
    found["kind"] = plural
    return found | more


def not_found(plural: str, group: str, name: str) -> ApiError:
    message = f'{qualified(plural, group)} "{name}" not found'
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", message, details=_details(plural, group, name))


def already_exists(plural: str, group: str, name: str) -> ApiError:
    message = f'{qualified(plural, group)} "{name}" already exists'
    return ApiError(HTTPStatus.CONFLICT, "AlreadyExists", message, details=_details(plural, group, name))


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return ApiError(HTTPStatus.CONFLICT, "Conflict", message, details=_details(plural, group, name))


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422 with every problem as a cause. The same error twice is shown once in the message."""
    shown = list(dict.fromkeys(error.message for error in errors))
    summary = shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
    kind_name = f"{kind}.{group}" if group else kind
    message = f'{kind_name} "{name}" is invalid: {summary}' if errors else f'{kind_name} "{name}" is invalid'
    details: JsonObject = {"name": name} if name else {}
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [
        {"reason": str(error.type), "message": error.body, "field": error.field} for error in errors
    ]
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details=details)


def bad_request(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def forbidden(plural: str, group: str, name: str, why: str, causes: Sequence[JsonObject] = ()) -> ApiError:
    message = f'{qualified(plural, group)} "{name}" is forbidden: {why}'
    details = _details(plural, group, name, **({"causes": list(causes)} if causes else {}))
    return ApiError(HTTPStatus.FORBIDDEN, "Forbidden", message, details=details)


def method_not_allowed() -> ApiError:
    return ApiError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def unknown_resource() -> ApiError:
    return ApiError(
        HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource", details={}
    )


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(
        accepted
    )
    return ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def not_acceptable(accepted: Sequence[str]) -> ApiError:
    message = "only the following media types are accepted: " + ", ".join(accepted)
    return ApiError(HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", message)


def too_large(limit: int) -> ApiError:
    message = f"Request entity too large: limit is {limit}"
    return ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message)


def not_implemented(what: str) -> ApiError:
    return ApiError(HTTPStatus.NOT_IMPLEMENTED, "NotImplemented", f"{what} is not supported by this server")


def too_many_requests(why: str) -> ApiError:
    return ApiError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "TooManyRequests",
        f"{why}: try again later",
        details={"retryAfterSeconds": 1},
        headers=(("Retry-After", "1"),),
    )


def unauthorized() -> ApiError:
    return ApiError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")


def insufficient_storage(why: str) -> ApiError:
    """The write was not made. 429 rather than 5xx: clients retry it, and know that nothing was written."""
    return ApiError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "InsufficientStorage",
        f"{why}: free space on this disk; the server takes writes again by itself",
        details={"retryAfterSeconds": RETRY_SECONDS},
        headers=(("Retry-After", str(RETRY_SECONDS)),),
    )


def storage_unavailable(why: str) -> ApiError:
    return ApiError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        why,
        details={"retryAfterSeconds": RETRY_SECONDS},
        headers=(("Retry-After", str(RETRY_SECONDS)),),
    )


def timed_out(seconds: float) -> ApiError:
    message = f"Timeout: request did not complete within {seconds:.0f}s"
    return ApiError(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, details={})


def internal(message: str) -> ApiError:
    return ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)
