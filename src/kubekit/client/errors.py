"""What an API server refuses and what a connection loses, told apart by what the caller may conclude.

ApiError
├── NotSent            the request surely did nothing: it never left
├── Ambiguous          it was sent and no answer came: it may have been done
├── BadRequest 400 · Unauthorized 401 · Forbidden 403 · NotFound 404 · Invalid 422
├── AlreadyExists, Conflict 409 · Expired 410 · TooManyRequests 429
└── ServerFailure      5xx: a write may have been done all the same
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

SERVER_FAILURES: Final = 500
SHOWN: Final = 500


class ApiError(Exception):
    """No answer, or one that refuses."""

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
    """The request never reached a server: refused, unknown host, no TLS. Sending it again is safe."""


class Ambiguous(ApiError):
    """The request was sent and the answer was lost. A write may have been done: look before doing it again."""


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
    """409: the object is not the one, or not the version, that the request spoke of."""


class Expired(ApiError):
    """410: the resourceVersion or the page is older than the server remembers."""


class Invalid(ApiError):
    """422: `details["causes"]` names the fields."""


class TooManyRequests(ApiError):
    """429: try again after `retry_after` seconds."""


class ServerFailure(ApiError):
    """5xx. The server, or something before it, failed midway: a write may have been done."""


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
    """Whether the same request may succeed later without anyone changing anything."""
    return isinstance(error, NotSent | Ambiguous | TooManyRequests | ServerFailure)


def is_beyond_server(error: BaseException) -> bool:
    """Whether a resourceVersion was asked for that the server has not reached, as after a restore of its data."""
    causes = error.details.get("causes") if isinstance(error, ApiError) else None
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes or ())


def may_have_been_done(error: BaseException) -> bool:
    """Whether a write that ended so may have taken effect."""
    return isinstance(error, Ambiguous | ServerFailure)


def from_answer(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error that a refusing answer says. Headers are named in lower case."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict) or said.get("kind") != "Status":
        text = body[:SHOWN].decode(errors="replace").strip()
        said = {"message": text or f"the server answered {status} without a word"}
    return from_status({**said, "code": status}, retry_after=_seconds(headers.get("retry-after")))


def from_status(status: Mapping[str, Any], *, retry_after: float | None = None) -> ApiError:
    """The error that a Status object says, in an answer or within a watch."""
    code = int(status.get("code") or 0)
    reason = str(status.get("reason") or "")
    details = status.get("details") or {}
    kind = (
        ServerFailure if code >= SERVER_FAILURES else _BY_REASON.get(reason) or _BY_STATUS.get(code, ApiError)
    )
    if kind is Invalid and any(cause.get("field") == "metadata.uid" for cause in details.get("causes") or ()):
        # A patch that carries the uid of another object: servers call the uid immutable.
        kind = Conflict
    if retry_after is None:
        retry_after = _seconds(details.get("retryAfterSeconds"))
    message = str(status.get("message") or reason or f"status {code}")
    return kind(message, status=code, reason=reason, details=details, retry_after=retry_after)


def _seconds(text: Any) -> float | None:
    """Of a Retry-After in seconds; its form as a date is not used by API servers."""
    try:
        return max(0.0, float(text)) or None
    except (TypeError, ValueError):
        return None
