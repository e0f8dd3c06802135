"""Reviews: who a user is, and what they may do."""

import pytest

from picokube.apiserver.auth.access import Decision, PathRequest, ResourceRequest
from picokube.apiserver.auth.authentication import InvalidToken, TokenOwner
from picokube.apiserver.auth.authorization import review
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import User

ME = User(name="me", groups=("g",), uid="7", extra={"k": ("v",)})


class Judge:
    """Allows one user everything, and remembers what was asked."""

    def __init__(self):
        self.requests = []

    def decide(self, user, ask):
        self.requests.append((user.name, user.groups, ask))
        return Decision(allowed=user.name == "me", reason="because" if user.name == "me" else "")

    def rules(self, user, namespace):
        return [
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
        ], "a role is missing"


def _review(kind, spec, judge=None, lookup=None):
    return review(kind, lookup, judge)({"metadata": {"creationTimestamp": "t"}, "spec": spec}, ME)


def test_one_is_reported_who_one_is():
    """With all attributes of the user."""
    reported = _review("SelfSubjectReview", {})
    info = {"username": "me", "uid": "7", "groups": ["g"], "extra": {"k": ["v"]}}
    assert reported["status"] == {"userInfo": info}
    assert reported["metadata"] == {"creationTimestamp": "t"}


def test_a_review_of_oneself_is_about_anyone_asks():
    """An allowed review states its reason."""
    judge = Judge()
    reported = _review(
        "SelfSubjectAccessReview", {"nonResourceAttributes": {"verb": "get", "path": "/x"}}, judge
    )
    assert reported["status"] == {"allowed": True, "reason": "because"}
    assert judge.requests == [("me", ("g",), PathRequest(verb="get", path="/x"))]


@pytest.mark.parametrize("kind", ["SubjectAccessReview", "LocalSubjectAccessReview"])
def test_a_review_of_others_is_about_those_it_names(kind):
    """A denied review needs no reason."""
    judge = Judge()
    attributes = {"verb": "get", "resource": "pods", "namespace": "n", "version": "v1"}
    reported = _review(kind, {"user": "x", "groups": ["h"], "resourceAttributes": attributes}, judge)
    assert reported["status"] == {"allowed": False}
    assert judge.requests == [("x", ("h",), ResourceRequest(verb="get", resource="pods", namespace="n"))]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param("SubjectAccessReview", {"resourceAttributes": {}}, id="no-user"),
        pytest.param("SubjectAccessReview", {"user": "x"}, id="nothing"),
        pytest.param(
            "SelfSubjectAccessReview", {"resourceAttributes": {}, "nonResourceAttributes": {}}, id="both"
        ),
        pytest.param("SelfSubjectRulesReview", {}, id="nowhere"),
        pytest.param("TokenReview", {}, id="no-token"),
    ],
)
def test_a_question_that_asks_nothing_is_refused(kind, spec):
    """For every kind of review."""
    with pytest.raises(errors.ApiError):
        _review(kind, spec, Judge())


def test_rules_are_reported_apart_by_what_they_are_about():
    """Resources and paths; and what could not be found."""
    status = _review("SelfSubjectRulesReview", {"namespace": "n"}, Judge())["status"]
    assert status == {
        "resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
        "incomplete": False,
        "evaluationError": "a role is missing",
    }


@pytest.mark.parametrize(
    ("found", "status"),
    [
        pytest.param(
            TokenOwner(user=User(name="a"), audiences=("s",)),
            {"authenticated": True, "user": {"username": "a"}, "audiences": ["s"]},
            id="known",
        ),
        pytest.param(InvalidToken(), {"user": {}, "error": "invalid bearer token"}, id="unknown-token"),
        pytest.param(
            InvalidToken(why="it expired"),
            {"user": {}, "error": "[invalid bearer token, it expired]"},
            id="expired",
        ),
    ],
)
def test_a_token_is_looked_up(found, status):
    """For the audiences that the review names."""
    lookups = []

    def lookup(token, audiences):
        lookups.append((token, audiences))
        return found

    reported = _review("TokenReview", {"token": "t", "audiences": ["s"]}, lookup=lookup)
    assert (reported["status"], lookups) == (status, [("t", ["s"])])
