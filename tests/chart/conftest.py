"""A real cluster with two versions of the product on its node, started on first use.

It is module-scoped: the engine's own tests have controllers that reconcile every namespace.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from chart_cluster import IMAGE, Release, RunEnds, next_image, why_no_image
from chart_render import helm_binary

from contract.engine.existing_server import ExistingServer
from contract.engine.pod_ledger import PodLedger
from e2e.kubectl_command import Kubectl, kubectl_binary
from support.whole_cluster import WholeCluster, why_no_cluster

RESTRICTED = {
    "pod-security.kubernetes.io/enforce": "restricted",
    "pod-security.kubernetes.io/warn": "restricted",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[WholeCluster]:
    for obstacle in (why_no_cluster, lambda: None if helm_binary() else "no helm", why_no_image):
        if reported := obstacle():
            pytest.skip(f"no cluster for the chart: {reported}")
    whole = WholeCluster()
    scratch = Path(tempfile.mkdtemp(prefix="jangar-chart-image-"))
    try:
        whole.images("import", IMAGE)
        whole.images("import", next_image(scratch))
        yield whole
    finally:
        whole.stop()
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture(scope="module")
def node(cluster: WholeCluster) -> Iterator[ExistingServer]:
    server = ExistingServer("cluster", cluster.kubeconfig)
    yield server
    server.stop()


@pytest.fixture
def release(node: ExistingServer, tmp_path: Path) -> Iterator[Release]:
    """A namespace with the strictest pod security; everything installed in it is deleted at the end."""
    binary = kubectl_binary()
    assert binary is not None, "a whole cluster has one"
    namespace = f"chart-{secrets.token_hex(3)}"
    kubectl = Kubectl(server=node, binary=binary, home=tmp_path, namespace=namespace)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": RESTRICTED}}
    kubectl("create -f -", body)
    made = Release(server=node, kubectl=kubectl, namespace=namespace)
    yield made
    made.close()
    made.try_helm("uninstall", "agents", "--ignore-not-found", "--wait", "--timeout", "120s")
    kubectl("delete namespace " + namespace + " --wait=false")


@pytest.fixture
def pods(node: ExistingServer) -> Iterator[PodLedger]:
    ledger = PodLedger(node.client())
    yield ledger
    ledger.stop()


@pytest.fixture
def ends(node: ExistingServer) -> Iterator[RunEnds]:
    followed = RunEnds(node.client())
    yield followed
    followed.stop()
