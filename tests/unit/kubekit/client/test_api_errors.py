"""Which error an answer becomes, and what may be concluded from it."""

import orjson
import pytest

from kubekit.client import errors


def a_status(code, reason="", **rest):
    return orjson.dumps({"kind": "Status", "code": code, "reason": reason, "message": "said", **rest})


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        pytest.param(400, "BadRequest", errors.BadRequest, id="bad-request"),
        pytest.param(401, "Unauthorized", errors.Unauthorized, id="unauthorized"),
        pytest.param(403, "Forbidden", errors.Forbidden, id="forbidden"),
        pytest.param(404, "NotFound", errors.NotFound, id="not-found"),
        pytest.param(409, "AlreadyExists", errors.AlreadyExists, id="already-exists"),
        pytest.param(409, "Conflict", errors.Conflict, id="conflict"),
        pytest.param(410, "Expired", errors.Expired, id="expired"),
        pytest.param(410, "Gone", errors.Expired, id="gone"),
        pytest.param(422, "Invalid", errors.Invalid, id="invalid"),
        pytest.param(429, "TooManyRequests", errors.TooManyRequests, id="too-many-requests"),
        pytest.param(500, "InternalError", errors.ServerFailure, id="internal-error"),
        pytest.param(503, "ServiceUnavailable", errors.ServerFailure, id="unavailable"),
        pytest.param(504, "Timeout", errors.ServerFailure, id="timeout"),
        pytest.param(500, "AlreadyExists", errors.ServerFailure, id="a-failure-whatever-it-says"),
        pytest.param(418, "", errors.ApiError, id="anything-else"),
    ],
)
def test_a_refusal_becomes_the_error_of_its_reason(code, reason, expected):
    """The reason is more specific than the code: two refusals share 409."""
    error = errors.from_response(code, {}, a_status(code, reason))
    assert type(error) is expected
    assert (error.status, error.reason, str(error)) == (code, reason, "said")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (404, errors.NotFound),
        (409, errors.Conflict),
        (429, errors.TooManyRequests),
        (502, errors.ServerFailure),
    ],
)
def test_an_answer_that_is_no_status_is_judged_by_its_code(code, expected):
    """Proxies and unknown paths answer in plain text."""
    error = errors.from_response(code, {}, b"<html>bad gateway</html>")
    assert type(error) is expected
    assert "bad gateway" in str(error)


def test_a_patch_for_another_uid_is_a_conflict():
    """Servers say that the uid cannot be changed; it means that another object has the name now."""
    body = a_status(422, "Invalid", details={"causes": [{"field": "metadata.uid"}]})
    assert type(errors.from_response(422, {}, body)) is errors.Conflict


def test_an_empty_refusal_still_says_something():
    """A message is never empty."""
    assert "503" in str(errors.from_response(503, {}, b""))


@pytest.mark.parametrize(
    ("headers", "details", "expected"),
    [
        pytest.param({"retry-after": "3"}, {}, 3.0, id="header"),
        pytest.param({}, {"retryAfterSeconds": 5}, 5.0, id="details"),
        pytest.param({"retry-after": "1"}, {"retryAfterSeconds": 5}, 1.0, id="header-first"),
        pytest.param({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, None, id="a-date-is-not-read"),
        pytest.param({}, {}, None, id="neither"),
    ],
)
def test_when_to_come_back_is_read_from_header_and_details(headers, details, expected):
    """Servers say it in either place."""
    error = errors.from_response(429, headers, a_status(429, "TooManyRequests", details=details))
    assert error.retry_after == expected


TRANSIENT = [errors.NotSent, errors.Ambiguous, errors.TooManyRequests, errors.ServerFailure]
LASTING = [
    errors.Conflict,
    errors.NotFound,
    errors.Invalid,
    errors.Forbidden,
    errors.Expired,
    errors.ApiError,
]


@pytest.mark.parametrize("kind", [*TRANSIENT, *LASTING])
def test_only_some_errors_pass_by_themselves(kind):
    """A conflict asked again the same way stays a conflict."""
    assert errors.is_transient(kind("said")) == (kind in TRANSIENT)


@pytest.mark.parametrize("kind", [*TRANSIENT, *LASTING])
def test_a_write_may_have_been_done_when_no_clear_answer_came(kind):
    """A lost answer and a failing server leave it open; a refusal and a connection never made do not."""
    assert errors.may_have_taken_effect(kind("said")) == (kind in {errors.Ambiguous, errors.ServerFailure})


def test_other_exceptions_are_neither():
    """A bug is not a hiccup of the network."""
    assert not errors.is_transient(KeyError())
    assert not errors.may_have_taken_effect(KeyError())


def test_a_version_beyond_the_server_is_known_by_its_cause():
    """504 Timeout with this cause is about the version, not about load."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    error = errors.from_response(504, {}, a_status(504, "Timeout", details={"causes": causes}))
    assert errors.is_beyond_server(error)
    assert not errors.is_beyond_server(errors.from_response(504, {}, a_status(504, "Timeout")))
