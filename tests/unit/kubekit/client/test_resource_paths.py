"""The paths under which kinds are found."""

import pytest

from kubekit.client.builtin import CONFIG_MAPS, JOBS, LEASES, NAMESPACES, PODS
from kubekit.client.resource import Resource


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("default"), "/api/v1/namespaces/default/pods"),
        (PODS.path("default", "a"), "/api/v1/namespaces/default/pods/a"),
        (PODS.path("default", "a", "status"), "/api/v1/namespaces/default/pods/a/status"),
        (JOBS.path("default", "a"), "/apis/batch/v1/namespaces/default/jobs/a"),
        (NAMESPACES.path(), "/api/v1/namespaces"),
        (NAMESPACES.path(None, "a"), "/api/v1/namespaces/a"),
        (NAMESPACES.path("ignored", "a"), "/api/v1/namespaces/a"),
        (PODS.path("default", "a/b"), "/api/v1/namespaces/default/pods/a%2Fb"),
        (PODS.path("default", "system:x"), "/api/v1/namespaces/default/pods/system%3Ax"),
    ],
)
def test_paths(path, expected):
    """Groups, namespaces, names, subresources; what is no name cannot leave its place."""
    assert path == expected


def test_a_namespaced_object_is_not_addressed_without_its_namespace():
    """That path would be another collection."""
    with pytest.raises(ValueError, match="namespace"):
        CONFIG_MAPS.path(None, "a")


def test_api_versions():
    """The core group has no name."""
    assert PODS.api_version == "v1"
    assert LEASES.api_version == "coordination.k8s.io/v1"
    assert Resource("a.dev", "v1", "xs", "X").api_version == "a.dev/v1"
