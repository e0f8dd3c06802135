"""Errors of API requests, distinguished by whether the request may have taken effect.

ApiError
├── NotSent            the request was not sent and had no effect
├── Ambiguous          the request was sent without a response and may have taken effect
├── BadRequest 400 · Unauthorized 401 · Forbidden 403 · NotFound 404 · Invalid 422
├── AlreadyExists, Conflict 409 · Expired 410 · TooManyRequests 429
└── ServerFailure      5xx: a write may have taken effect
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

MIN_SERVER_ERROR: Final = 500
MAX_SHOWN_BYTES: Final = 500


class ApiError(Exception):
    """A request failed: no response, or an error response."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after


class NotSent(ApiError):
    """The request never reached a server: connection refused, unknown host, TLS failure. Retrying is safe."""


class Ambiguous(ApiError):
    """The request was sent and the response was lost. A write may have taken effect: read before retrying."""


class BadRequest(ApiError):
    """400."""


class Unauthorized(ApiError):
    """401."""


class Forbidden(ApiError):
    """403."""


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class AlreadyExists(ApiError):
    """409: the name is taken."""


class Conflict(ApiError):
    """409: the uid or resourceVersion in the request does not match the object."""


class Expired(ApiError):
    """410: the resourceVersion or continue token is too old."""


class Invalid(ApiError):
    """422: `details["causes"]` names the fields."""


class TooManyRequests(ApiError):
    """429: try again after `retry_after` seconds."""


class ServerFailure(ApiError):
    """5xx: the server or a proxy failed; a write may have taken effect."""


_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Expired": Expired,
    "Gone": Expired,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
}
_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def is_transient(error: BaseException) -> bool:
    """Whether the same request may succeed later without changes."""
    return isinstance(error, NotSent | Ambiguous | TooManyRequests | ServerFailure)


def is_beyond_server(error: BaseException) -> bool:
    """Whether the requested resourceVersion is newer than the server's, as after a restore from backup."""
    causes = error.details.get("causes") if isinstance(error, ApiError) else None
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes or ())


def may_have_taken_effect(error: BaseException) -> bool:
    """Whether a write that failed with this error may have taken effect."""
    return isinstance(error, Ambiguous | ServerFailure)


def from_response(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error in an error response. Header names are lower case."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        content = None
    if not isinstance(content, dict) or content.get("kind") != "Status":
        text = body[:MAX_SHOWN_BYTES].decode(errors="replace").strip()
        content = {"message": text or f"the server returned {status} with an empty body"}
    return from_status({**content, "code": status}, retry_after=_seconds(headers.get("retry-after")))


def from_status(status: Mapping[str, Any], *, retry_after: float | None = None) -> ApiError:
    """The error in a Status object, from a response or a watch."""
    code = int(status.get("code") or 0)
    reason = str(status.get("reason") or "")
    details = status.get("details") or {}
    kind = (
        ServerFailure
        if code >= MIN_SERVER_ERROR
        else _BY_REASON.get(reason) or _BY_STATUS.get(code, ApiError)
    )
    if kind is Invalid and any(cause.get("field") == "metadata.uid" for cause in details.get("causes") or ()):
        # The server reports a patch with the uid of another object as a change of an immutable field.
        kind = Conflict
    if retry_after is None:
        retry_after = _seconds(details.get("retryAfterSeconds"))
    message = str(status.get("message") or reason or f"status {code}")
    return kind(message, status=code, reason=reason, details=details, retry_after=retry_after)


def _seconds(text: Any) -> float | None:
    """Parse Retry-After in seconds; API servers do not use the date form."""
    try:
        return max(0.0, float(text)) or None
    except (TypeError, ValueError):
        return None
