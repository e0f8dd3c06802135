"""Principals that a trusted proxy names: which users and groups are accepted."""

import pytest

from jangar.server.http.identity import ProxiedPrincipals, Unknown
from jangar.settings.control_plane import control_plane_settings
from jangar.settings.variables import BadSettings

SECRET = "of-the-proxy-alone"  # noqa: S105 - of this test


@pytest.mark.parametrize(
    ("allowed", "groups"),
    [
        pytest.param(None, ("other", "team-a"), id="all"),
        pytest.param(frozenset({"team-a", "team-b"}), ("team-a",), id="listed"),
    ],
)
def test_groups_that_are_not_listed_are_left_out(allowed, groups):
    """The API rejects the whole request if one of them may not be impersonated."""
    requests = []
    callers = ProxiedPrincipals(
        requests.append, user="x-user", groups="x-groups", secret=SECRET, allowed=allowed, users=None
    )
    headers = {"x-user": "ann", "x-groups": "team-a, other", "x-jangar-proxy-secret": SECRET}
    assert callers.of(headers).name == "ann"
    assert [item.groups for item in requests] == [groups]


@pytest.mark.parametrize(
    ("name", "groups", "is_known"),
    [("ann", "", True), ("bob", "", False), ("bob", "other", False), ("bob", "team-a", True)],
)
def test_only_named_users_and_members_of_named_groups_sign_in(name, groups, is_known):
    """Other users are rejected."""
    callers = ProxiedPrincipals(
        lambda _: None,
        user="x-user",
        groups="x-groups",
        secret=SECRET,
        allowed=frozenset({"team-a"}),
        users=frozenset({"ann"}),
    )
    headers = {"x-user": name, "x-groups": groups, "x-jangar-proxy-secret": SECRET}
    if is_known:
        assert callers.of(headers).name == name
    else:
        with pytest.raises(Unknown, match="bob is not in the allowed"):
            callers.of(headers)


def test_a_proxy_without_users_or_groups_is_refused_at_start():
    """Accepting every user must be configured explicitly."""
    named = {
        "JANGAR_TRUSTED_PROXY_USER_HEADER": "X-User",
        "JANGAR_TRUSTED_PROXY_SECRET": SECRET,
    }
    with pytest.raises(BadSettings, match="JANGAR_TRUSTED_PROXY_USERS"):
        control_plane_settings(named)
    assert control_plane_settings(named | {"JANGAR_TRUSTED_PROXY_USERS": "*"}).proxy_users == ("*",)
    assert control_plane_settings(named | {"JANGAR_TRUSTED_PROXY_GROUPS": "team-a"}).proxy_users == ()
