"""What a request asks for, as whom, and how it is refused."""

import pytest

from picokube.apiserver.auth.access import Decision, PathRequest, ResourceRequest
from picokube.apiserver.auth.authorization import Authorizer, access_request
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import Request, User, target_of

CORE = "/api/v1/namespaces/n"
ADMIN = User(name="admin", groups=("system:masters",))


class Access:
    """Allows only the given requests."""

    def __init__(self, *allowed, reason=""):
        self.allowed, self.reason = allowed, reason

    def decide(self, user, ask):
        del user
        return Decision(allowed=ask in self.allowed, reason=self.reason)


class Yes:
    def decide(self, user, ask):
        del user, ask
        return Decision(allowed=True)


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param("GET", f"{CORE}/pods/a", {}, {"verb": "get", "name": "a"}, id="get"),
        pytest.param("HEAD", f"{CORE}/pods/a", {}, {"verb": "get", "name": "a"}, id="head"),
        pytest.param("GET", f"{CORE}/pods", {}, {"verb": "list"}, id="list"),
        pytest.param("GET", f"{CORE}/pods", {"watch": ["1"]}, {"verb": "watch"}, id="watch"),
        pytest.param(
            "GET",
            f"{CORE}/pods",
            {"fieldSelector": ["status.phase=x,metadata.name==a"]},
            {"verb": "list", "name": "a"},
            id="one-of-a-list",
        ),
        pytest.param("DELETE", f"{CORE}/pods", {}, {"verb": "deletecollection"}, id="delete-all"),
        pytest.param("DELETE", f"{CORE}/pods/a", {}, {"verb": "delete", "name": "a"}, id="delete"),
        pytest.param("PATCH", f"{CORE}/pods/a", {}, {"verb": "patch", "name": "a"}, id="patch"),
        pytest.param(
            "POST",
            f"{CORE}/pods/a/binding",
            {},
            {"verb": "create", "name": "a", "subresource": "binding"},
            id="subresource",
        ),
        pytest.param("GET", "/api/v1/pods", {}, {"verb": "list", "namespace": ""}, id="everywhere"),
    ],
)
def test_a_request_asks_for_a_verb_on_a_resource(method, path, query, expected):
    """One name in a field selector counts as that name."""
    found = access_request(Request(method=method, path=path, query=query), target_of(path))
    assert found == ResourceRequest(**{"resource": "pods", "namespace": "n", **expected})


def test_a_namespace_is_within_itself():
    """Who may see everything in a namespace may see the namespace."""
    found = access_request(Request(method="GET", path=CORE), target_of(CORE))
    assert found == ResourceRequest(verb="get", resource="namespaces", name="n", namespace="n")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            f"{CORE}/pods/a/log",
            'pods "a" is forbidden: User "x" cannot get resource "pods/log" in API group "" in the namespace "n"',
        ),
        (
            "/apis/batch/v1/jobs",
            'jobs.batch is forbidden: User "x" cannot list resource "jobs" in API group "batch" at the cluster scope',
        ),
    ],
)
def test_a_refusal_says_who_what_and_where(path, message):
    """And why, if a role was missing."""
    request = Request(method="GET", path=path, user=User(name="x"))
    for reason in ("", "RBAC: a role is missing"):
        with pytest.raises(ApiError) as refused:
            Authorizer(Access(reason=reason)).check_resource(request, target_of(path))
        assert refused.value.message == message + (f": {reason}" if reason else "")
        assert refused.value.code == 403


def test_a_path_is_refused_by_its_method():
    """Paths have no verbs of their own."""
    authorizer = Authorizer(Access(PathRequest(verb="get", path="/x")))
    authorizer.check_path(Request(method="GET", path="/x"))
    with pytest.raises(ApiError, match='forbidden: User "system:anonymous" cannot post path "/x"'):
        authorizer.check_path(Request(method="POST", path="/x"))


def _as(access, **headers):
    named = {f"impersonate-{name.replace('_', '-')}": value for name, value in headers.items()}
    return Authorizer(access).impersonated(Request(method="GET", path="/", headers=named, user=ADMIN)).user


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        pytest.param({}, ADMIN, id="oneself"),
        pytest.param({"user": "j"}, User(name="j", groups=("system:authenticated",)), id="user"),
        pytest.param(
            {"user": "j", "group": "a\nb", "uid": "7", "extra-x%2fy": "1\n2"},
            User(name="j", groups=("a", "b", "system:authenticated"), uid="7", extra={"x/y": ("1", "2")}),
            id="everything",
        ),
        pytest.param(
            {"user": "system:serviceaccount:n:a"},
            User(
                name="system:serviceaccount:n:a",
                groups=("system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"),
            ),
            id="account",
        ),
        pytest.param(
            {"user": "system:anonymous"},
            User(name="system:anonymous", groups=("system:unauthenticated",)),
            id="nobody",
        ),
    ],
)
def test_one_acts_as_the_user_that_the_headers_name(headers, user):
    """Groups of an account go without saying."""
    assert _as(Yes(), **headers) == user


def test_each_thing_one_pretends_to_be_must_be_allowed():
    """The name alone is not enough."""
    user = ResourceRequest(verb="impersonate", resource="users", name="j")
    assert _as(Access(user), user="j").name == "j"
    with pytest.raises(ApiError, match='groups "g" is forbidden: User "admin" cannot impersonate'):
        _as(Access(user), user="j", group="g")


def test_groups_need_a_user():
    """A user in no group."""
    with pytest.raises(ApiError, match="without impersonating a user") as refused:
        _as(Yes(), group="g")
    assert refused.value.message == "requested [{Group  g    }] without impersonating a user"
