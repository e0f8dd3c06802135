"""Errors of operations by kind, which the HTTP API maps to a status and the command line to an exit code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from jangar.store.errors import StoreError
from kubekit.client import errors


class ErrorKind(Enum):
    """The first group are decisions of operations; the second are responses of the Kubernetes API and the database."""

    CONFLICT = auto()
    """The run is not in a state that allows this."""
    MISSING = auto()
    """A named thing does not exist."""
    INVALID = auto()
    """The request makes no sense."""
    TIMEOUT = auto()
    """What the caller waits for did not happen in time."""

    NOT_SENT = auto()
    NO_RESPONSE = auto()
    UNKNOWN_KIND = auto()
    NOT_FOUND = auto()
    UNAUTHORIZED = auto()
    FORBIDDEN = auto()
    INVALID_OBJECT = auto()
    ALREADY_EXISTS = auto()
    MODIFIED = auto()
    THROTTLED = auto()
    SERVER_FAILURE = auto()
    API_ERROR = auto()
    HISTORY_UNREACHABLE = auto()
    REQUEST_TIMEOUT = auto()


class Refused(Exception):
    """An operation rejected a request; the message says why and what to do."""

    def __init__(
        self,
        message: str,
        kind: ErrorKind,
        *,
        problems: Sequence[str] = (),
        fields: Mapping[str, str] | None = None,
    ) -> None:
        """`fields` maps a field path of the request (`parameters.region`) to its error message."""
        super().__init__(message)
        self.kind = kind
        self.problems = tuple(problems)
        self.fields = dict(fields or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """An error of an operation, the Kubernetes API or the database, described for any client."""

    kind: ErrorKind
    message: str
    status: int = 0
    """HTTP status of the Kubernetes API's response, if there was one."""
    resource: str = ""
    """Plural of the object's kind, if the Kubernetes API named it."""
    problems: Sequence[str] = ()
    fields: Mapping[str, str]
    retry_after: float | None = None


UNKNOWN_KIND_MESSAGE: Final = "could not find the requested resource"
_API_ERRORS: Final = (
    (errors.NotSent, ErrorKind.NOT_SENT),
    (errors.Ambiguous, ErrorKind.NO_RESPONSE),
    (errors.Unauthorized, ErrorKind.UNAUTHORIZED),
    (errors.Forbidden, ErrorKind.FORBIDDEN),
    (errors.Invalid, ErrorKind.INVALID_OBJECT),
    (errors.AlreadyExists, ErrorKind.ALREADY_EXISTS),
    (errors.Conflict, ErrorKind.MODIFIED),
    (errors.TooManyRequests, ErrorKind.THROTTLED),
    (errors.ServerFailure, ErrorKind.SERVER_FAILURE),
    (errors.ApiError, ErrorKind.API_ERROR),
)


def report_error(error: Exception) -> ErrorReport | None:
    """The report of an expected error; None for a bug."""
    match error:
        case Refused():
            return ErrorReport(
                kind=error.kind, message=str(error), problems=error.problems, fields=error.fields
            )
        case errors.ApiError():
            is_unknown = UNKNOWN_KIND_MESSAGE in error.message
            kind = (
                (ErrorKind.UNKNOWN_KIND if is_unknown else ErrorKind.NOT_FOUND)
                if isinstance(error, errors.NotFound)
                else next(kind for type_, kind in _API_ERRORS if isinstance(error, type_))
            )
            causes = error.details.get("causes") or ()
            return ErrorReport(
                kind=kind,
                message=error.message,
                status=error.status,
                resource=str(error.details.get("kind") or ""),
                problems=[f"{cause.get('field') or '?'}: {cause.get('message')}" for cause in causes],
                fields={},
                retry_after=error.retry_after,
            )
        case StoreError():
            message = "the history database is unreachable"
            return ErrorReport(kind=ErrorKind.HISTORY_UNREACHABLE, message=message, fields={}, retry_after=5)
        case TimeoutError():
            return ErrorReport(kind=ErrorKind.REQUEST_TIMEOUT, message="the request timed out", fields={})
        case _:
            return None
