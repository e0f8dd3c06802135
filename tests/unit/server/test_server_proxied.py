"""Callers whom a trusted proxy names: which of their groups count."""

import pytest

from jangar.server.http.proxied import ProxiedCallers

SECRET = "of-the-proxy-alone"  # noqa: S105 - of this test


@pytest.mark.parametrize(
    ("allowed", "groups"),
    [
        pytest.param(None, ("other", "team-a"), id="all"),
        pytest.param(frozenset({"team-a", "team-b"}), ("team-a",), id="listed"),
    ],
)
def test_groups_that_are_not_listed_are_left_out(allowed, groups):
    """For the API refuses the whole request if one of them may not be impersonated."""
    asked = []
    callers = ProxiedCallers(asked.append, user="x-user", groups="x-groups", secret=SECRET, allowed=allowed)
    headers = {"x-user": "ann", "x-groups": "team-a, other", "x-jangar-proxy-secret": SECRET}
    assert callers.of(headers).name == "ann"
    assert [each.groups for each in asked] == [groups]
