"""What is told to somebody whose request cannot be done: problem+json (RFC 9457) that says what to do."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import orjson
from starlette.responses import Response

from jangar.server.refusals import Refused, Why
from jangar.store.errors import StoreError
from kubekit.client import errors

CONTENT_TYPE: Final = "application/problem+json"
_STATUS: Final = {Why.STATE: 409, Why.MISSING: 404, Why.WRONG: 422}
_TOLD: Final[Mapping[int, str]] = {
    400: "mend the request",
    401: "send a bearer token, or open the page by the address that jangar up printed",
    403: "ask whoever administers the cluster for this right",
    404: "look for it in the list",
    405: "see /openapi.json for what can be asked here",
    409: "look at it again, then decide",
    413: "send less",
    415: "send application/json",
    422: "mend what is named, and send it again",
    429: "ask again later",
    500: "look into the log of the control plane",
    502: "ask again: the Kubernetes API failed",
    503: "ask again: what is needed cannot be reached now",
    504: "ask again, or for less",
}


class Problem(Exception):
    """A request that is refused."""

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
        self.fix = fix or _TOLD.get(status, "")
        self.problems = tuple(problems)
        self.fields = dict(fields or {})
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        """`ok` and `error` are what clients of the older system look for."""
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
    """What an error of the layers below says to a caller; None for a mistake of our own."""
    match error:
        case Problem():
            return error
        case Refused():
            return Problem(_STATUS[error.why], str(error), problems=error.problems, fields=error.fields)
        case errors.TooManyRequests():
            wait = {"Retry-After": str(round(error.retry_after or 1))}
            return Problem(429, error.message, headers=wait)
        case errors.NotSent() | errors.Ambiguous():
            return Problem(503, error.message, headers={"Retry-After": "1"})
        case errors.ServerFailure():
            return Problem(502, error.message)
        case errors.Unauthorized():
            return unauthenticated("the Kubernetes API does not know this token")
        case errors.ApiError() if error.status in _TOLD:
            causes = error.details.get("causes") or ()
            told = [f"{each.get('field')}: {each.get('message')}" for each in causes]
            return Problem(error.status, error.message, problems=told)
        case StoreError():
            return Problem(503, "the history cannot be read now", headers={"Retry-After": "5"})
        case TimeoutError():
            return Problem(504, "this took too long")
        case _:
            return None
