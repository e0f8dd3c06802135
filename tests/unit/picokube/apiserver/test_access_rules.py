"""What rules allow and whom bindings mean."""

import pytest

from picokube.apiserver.auth.access import (
    PathRequest,
    ResourceRequest,
    describe_binding,
    matching_subject,
    rule_allows,
    service_account_of,
)
from picokube.apiserver.protocol.messages import User

READ_PODS = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


def _ask(**fields):
    return ResourceRequest(**{"verb": "get", "resource": "pods", **fields})


@pytest.mark.parametrize(
    ("rule", "ask", "allowed"),
    [
        pytest.param({}, _ask(), True, id="the-same"),
        pytest.param({}, _ask(verb="list"), False, id="verb"),
        pytest.param({}, _ask(group="apps"), False, id="group"),
        pytest.param({}, _ask(resource="jobs"), False, id="resource"),
        pytest.param({}, _ask(subresource="log"), False, id="subresource"),
        pytest.param({"resources": ["pods/log"]}, _ask(subresource="log"), True, id="named-subresource"),
        pytest.param({"resources": ["pods/log"]}, _ask(), False, id="subresource-alone"),
        pytest.param({"resources": ["*/log"]}, _ask(subresource="log"), True, id="any-subresource"),
        pytest.param({"resources": ["*/log"]}, _ask(subresource="status"), False, id="other-subresource"),
        pytest.param({"resources": ["*"]}, _ask(subresource="status"), True, id="any-resource"),
        pytest.param({"verbs": ["*"], "apiGroups": ["*"]}, _ask(verb="x", group="y"), True, id="stars"),
        pytest.param({"resourceNames": ["a"]}, _ask(name="a"), True, id="name"),
        pytest.param({"resourceNames": ["a"]}, _ask(name="b"), False, id="other-name"),
        pytest.param({"resourceNames": ["a"]}, _ask(), False, id="many"),
        pytest.param({}, PathRequest(verb="get", path="/pods"), False, id="no-path"),
    ],
)
def test_a_rule_allows_what_it_names(rule, ask, allowed):
    """Verb, group, resource and name must all be named, or a star in their place."""
    assert rule_allows({**READ_PODS, **rule}, ask) is allowed


@pytest.mark.parametrize(
    ("stated", "path", "allowed"),
    [
        pytest.param("/api", "/api", True, id="the-same"),
        pytest.param("/api", "/api/v1", False, id="below"),
        pytest.param("/api/*", "/api/v1", True, id="star"),
        pytest.param("/api/*", "/api", False, id="not-itself"),
        pytest.param("*", "/x", True, id="everything"),
    ],
)
def test_a_path_is_named_or_begins_as_named(stated, path, allowed):
    """A star stands at the end."""
    assert (
        rule_allows({"verbs": ["get"], "nonResourceURLs": [stated]}, PathRequest(verb="get", path=path))
        is allowed
    )


@pytest.mark.parametrize(
    ("subject", "place", "means"),
    [
        pytest.param({"kind": "User", "name": "system:serviceaccount:n:a"}, "n", True, id="user"),
        pytest.param({"kind": "User", "name": "a"}, "n", False, id="other-user"),
        pytest.param({"kind": "Group", "name": "g"}, "n", True, id="group"),
        pytest.param({"kind": "ServiceAccount", "name": "a", "namespace": "n"}, "", True, id="account"),
        pytest.param({"kind": "ServiceAccount", "name": "a"}, "n", True, id="account-of-the-place"),
        pytest.param({"kind": "ServiceAccount", "name": "a"}, "", False, id="account-of-no-place"),
        pytest.param({"kind": "ServiceAccount", "name": "a", "namespace": "m"}, "n", False, id="elsewhere"),
        pytest.param({"kind": "Robot", "name": "a"}, "n", False, id="unknown-kind"),
    ],
)
def test_a_binding_means_users_groups_and_accounts(subject, place, means):
    """An account without a namespace is one of the binding's own."""
    user = User(name="system:serviceaccount:n:a", groups=("g",))
    binding = {
        "metadata": {"name": "b", "namespace": place},
        "subjects": [{"kind": "User", "name": "x"}, subject],
    }
    assert (matching_subject(binding, user) is subject) is means


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:n:a", ("n", "a")),
        ("system:serviceaccount:n", None),
        ("system:serviceaccount::a", None),
        ("system:serviceaccount:n:a:b", None),
        ("jane", None),
    ],
)
def test_an_account_is_reported_from_a_user_by_its_name(name, account):
    """Exactly two parts follow the prefix."""
    assert service_account_of(name) == account


@pytest.mark.parametrize(
    ("place", "subject", "text"),
    [
        (
            "n",
            {"kind": "ServiceAccount", "name": "a"},
            'RoleBinding "b/n" of Role "r" to ServiceAccount "a/n"',
        ),
        ("", {"kind": "Group", "name": "g"}, 'ClusterRoleBinding "b" of Role "r" to Group "g"'),
    ],
)
def test_the_ground_of_a_decision_names_binding_role_and_subject(place, subject, text):
    """With Kubernetes' own message."""
    binding = {"metadata": {"name": "b", "namespace": place}, "roleRef": {"kind": "Role", "name": "r"}}
    assert describe_binding(binding, subject) == text
