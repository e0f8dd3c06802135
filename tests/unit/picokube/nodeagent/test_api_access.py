"""D3: pods reach the API as their service account."""

import asyncio

import pytest

from kubekit.client.errors import Forbidden, NotFound
from picokube.nodeagent.data_directory import AgentPaths
from picokube.nodeagent.pods.volume_files import ApiAccess, make_volumes

POD = {
    "metadata": {"name": "p", "namespace": "n", "uid": "u"},
    "spec": {
        "serviceAccountName": "robot",
        "containers": [{"name": "main"}],
        "volumes": [{"name": "kube-api-access-x", "projected": {"sources": []}}],
    },
}


class Api:
    """Makes tokens and knows one ConfigMap."""

    def __init__(self, *, certificate="CERTIFICATE", refuses=False):
        self.requests, self._certificate, self._refuses = [], certificate, refuses

    async def create(self, resource, body):
        if self._refuses:
            raise Forbidden("no tokens for you", status=403)
        self.requests.append((resource.plural, body["spec"]["boundObjectRef"]["uid"]))
        return {**body, "status": {"token": "TOKEN"}}

    async def get(self, resource, name, namespace):
        if self._certificate is None:
            raise NotFound(name, status=404)
        return {"data": {"ca.crt": self._certificate}}


def _prepared(tmp_path, api, pod=POD, server="https://127.0.0.1:7447", times=1):
    paths = AgentPaths(data=tmp_path)
    access = ApiAccess(client=api, paths=paths, server=server)
    variables = [asyncio.run(access.prepare(pod)) for _ in range(times)]
    volumes = make_volumes(pod, paths, lambda *_: None)
    files = {item.name: item.read_text() for path in volumes.values() for item in path.iterdir()}
    return variables[-1], files


def test_a_pod_gets_a_token_that_is_bound_to_it_once(tmp_path):
    """A container that starts again finds the same files."""
    api = Api()
    variables, files = _prepared(tmp_path, api, times=2)
    assert variables == {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "7447"}
    assert files == {"namespace": "n", "ca.crt": "CERTIFICATE", "token": "TOKEN"}
    assert api.requests == [("serviceaccounts/robot/token", "u")]


@pytest.mark.parametrize(
    ("api", "pod", "server"),
    [
        (Api(refuses=True), POD, "https://127.0.0.1:7447"),
        (Api(), {**POD, "spec": {**POD["spec"], "volumes": []}}, "https://127.0.0.1:7447"),
        (Api(), POD, ""),
        (Api(), POD, "http://127.0.0.1:7447"),
    ],
    ids=["refused", "not asked for", "no address", "without TLS"],
)
def test_other_pods_get_nothing(tmp_path, api, pod, server):
    """They run as they did: without a token."""
    assert _prepared(tmp_path, api, pod, server) == ({}, {})


def test_a_namespace_without_a_certificate_gives_a_token_alone(tmp_path):
    """A server that publishes none is trusted otherwise."""
    assert _prepared(tmp_path, Api(certificate=None))[1]["ca.crt"] == ""
