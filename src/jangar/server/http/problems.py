"""HTTP error bodies: problem+json (RFC 9457) with a `fix` that says what to do."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.responses import Response

from jangar.operations.refusals import ErrorKind, report_error

CONTENT_TYPE: Final = "application/problem+json"
_STATUS: Final[Mapping[ErrorKind, int]] = {
    ErrorKind.CONFLICT: 409,
    ErrorKind.MISSING: 404,
    ErrorKind.INVALID: 422,
    ErrorKind.TIMEOUT: 504,
    ErrorKind.NOT_SENT: 503,
    ErrorKind.NO_RESPONSE: 503,
    ErrorKind.UNAUTHORIZED: 401,
    ErrorKind.THROTTLED: 429,
    ErrorKind.SERVER_FAILURE: 502,
    ErrorKind.HISTORY_UNREACHABLE: 503,
    ErrorKind.REQUEST_TIMEOUT: 504,
}
"""Other errors of the Kubernetes API keep their status."""
_RETRY_AFTER: Final = frozenset({ErrorKind.NOT_SENT, ErrorKind.NO_RESPONSE, ErrorKind.THROTTLED})
_FIXES: Final[Mapping[int, str]] = {
    400: "correct the request",
    401: "send a bearer token, or open the link that jangar up printed",
    403: "ask a cluster administrator for this permission",
    404: "list the objects to find the right name",
    405: "see /openapi.json for the supported methods",
    409: "read the object again before retrying",
    413: "send a smaller body",
    415: "send application/json",
    422: "correct the named fields and send the request again",
    429: "retry later",
    500: "check the log of the control plane",
    502: "retry: the Kubernetes API failed",
    503: "retry: a dependency is unreachable",
    504: "retry, or request less",
}


class Problem(Exception):
    """A rejected request: the status, what is wrong and how to fix it."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        fix: str = "",
        problems: Sequence[str] = (),
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.fix = fix or _FIXES.get(status, "")
        self.problems = tuple(problems)
        self.fields = dict(fields or {})
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        """The body. Legacy clients read `ok` and `error`."""
        found: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "fix": self.fix,
            "ok": False,
            "error": self.detail,
        }
        if self.problems:
            found["problems"] = list(self.problems)
        if self.fields:
            found["fields"] = self.fields
        return found

    def answer(self) -> Response:
        return Response(
            orjson.dumps(self.document()),
            status_code=self.status,
            media_type=CONTENT_TYPE,
            headers={"Cache-Control": "no-store", **self.headers},
        )


def unauthenticated(detail: str) -> Problem:
    return Problem(401, detail, headers={"WWW-Authenticate": 'Bearer realm="jangar"'})


def problem_of(error: Exception) -> Problem | None:
    """The problem for an error of a lower layer; None for an unexpected error."""
    if isinstance(error, Problem):
        return error
    report = report_error(error)
    if report is None:
        return None
    if report.kind is ErrorKind.UNAUTHORIZED:
        return unauthenticated("the Kubernetes API rejected the token")
    status = _STATUS.get(report.kind, report.status)
    if status not in _FIXES:
        return None
    headers = {}
    if report.retry_after or report.kind in _RETRY_AFTER:
        headers["Retry-After"] = str(round(report.retry_after or 1))
    return Problem(status, report.message, problems=report.problems, fields=report.fields, headers=headers)
