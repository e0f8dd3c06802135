"""Volumes without mount namespaces: paths are mapped, and the pod reports it."""

import pytest

from e2e.kubectl_command import in_own_namespace, on
from e2e.node_agent_process import AgentProcess
from support.api_servers import wait_for

kubectl = on("embedded", own_kinds=False)
k = in_own_namespace()


@pytest.fixture(scope="module", autouse=True)
def agent(kubectl):
    server = kubectl.server
    agent = AgentProcess(
        server.directory, server.directory / "data", server.kubeconfig, "--map-paths"
    ).start()
    wait_for(lambda: kubectl.run("get nodes -o name").out.startswith("node/"), what="that the node exists")
    yield agent
    agent.stop()
    agent.end_containers()


def test_a_pod_reads_and_writes_its_volumes_at_mapped_paths(k):
    """In arguments, variables and the working directory; its termination message reaches the status as well."""
    k("create configmap c --from-literal=file=content")
    container = {
        "name": "main",
        "image": "i",
        "command": ["sh", "-c"],
        "args": [
            'cat /in/file; echo " $TARGET" | wc -w; echo made > $TARGET; cat made; echo bye > /dev/termination-log'
        ],
        "env": [{"name": "TARGET", "value": "/out/made"}],
        "workingDir": "/out",
        "volumeMounts": [{"name": "c", "mountPath": "/in"}, {"name": "e", "mountPath": "/out"}],
    }
    volumes = [{"name": "c", "configMap": {"name": "c"}}, {"name": "e", "emptyDir": {}}]
    spec = {"restartPolicy": "Never", "containers": [container], "volumes": volumes}
    k("create -f -", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mapped"}, "spec": spec})
    k("wait --for=jsonpath={.status.phase}=Succeeded pod/mapped --timeout=20s")
    assert k("logs mapped") == "content1\nmade\n"
    status = k.json("get pod mapped")["status"]
    assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "bye\n"
    mode = next(condition for condition in status["conditions"] if condition["type"] == "ProcessMode")
    assert mode["reason"] == "PathMapping"
    assert "readOnly is not enforced" in mode["message"]
