"""What a path means."""

import pytest

from picokube.apiserver.protocol.messages import Target, target_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/api/v1/pods", Target(group="", version="v1", resource="pods"), id="collection-of-all"),
        pytest.param(
            "/api/v1/namespaces/a/pods",
            Target(group="", version="v1", resource="pods", namespace="a"),
            id="collection",
        ),
        pytest.param(
            "/api/v1/namespaces/a/pods/p/log",
            Target(group="", version="v1", resource="pods", namespace="a", name="p", subresource="log"),
            id="subresource",
        ),
        pytest.param(
            "/api/v1/namespaces", Target(group="", version="v1", resource="namespaces"), id="namespaces"
        ),
        pytest.param(
            "/api/v1/namespaces/a",
            Target(group="", version="v1", resource="namespaces", name="a"),
            id="a-namespace",
        ),
        pytest.param(
            "/api/v1/namespaces/a/finalize",
            Target(group="", version="v1", resource="namespaces", name="a", subresource="finalize"),
            id="finalize-of-a-namespace",
        ),
        pytest.param(
            "/apis/batch/v1/namespaces/a/jobs/j/status",
            Target(
                group="batch", version="v1", resource="jobs", namespace="a", name="j", subresource="status"
            ),
            id="status-in-a-group",
        ),
        pytest.param(
            "/apis/g/v1/things/t",
            Target(group="g", version="v1", resource="things", name="t"),
            id="cluster-scoped",
        ),
        pytest.param(
            "/api/v1/namespaces/a/pods/p/proxy/x/y",
            Target(
                group="",
                version="v1",
                resource="pods",
                namespace="a",
                name="p",
                subresource="proxy",
                rest=("x", "y"),
            ),
            id="what-follows-a-subresource",
        ),
        pytest.param(
            "//api//v1//pods/", Target(group="", version="v1", resource="pods"), id="slashes-do-not-matter"
        ),
        *(
            pytest.param(path, None, id=path)
            for path in ("/", "/api", "/api/v1", "/apis/g/v1", "/version", "/x/y/z/w")
        ),
    ],
)
def test_a_path_names_a_resource(path, expected):
    """Namespaced or not, with or without a name and a subresource."""
    assert target_of(path) == expected
