"""The chart on a real cluster: installed, used, upgraded under load, rolled back, and removed without remains."""

import sys
import time

import pytest
import yaml
from chart_cluster import NEXT, NOW, PATIENCE, Load, assert_once
from chart_render import CHART

from support.api_servers import wait_for

pytestmark = pytest.mark.xdist_group("engine-cluster")
EXAMPLES = CHART / "examples"
SMOKE_AGENT = ("agentprovider", "agent", "implementationspec")
SAMPLE_AGENT = ("secretbinding", "agentprovider", "agent", "implementationspec", "agentrun")
FINALIZER = "jangar.proompteng.ai/"


@pytest.fixture
def reported(capsys):
    """Print the duration of a step (visible with -s)."""

    class Reported:
        since = time.monotonic()

        def __call__(self, step: str) -> None:
            now = time.monotonic()
            with capsys.disabled():
                sys.stdout.write(f"\n  {step}: {now - self.since:.1f} s")
            self.since = now

    return Reported()


@pytest.mark.rule("CHART-7")
def test_an_installation_tests_itself_and_runs_the_examples(release, reported):
    """With restricted pods: `helm test`, the sample agent and two graphs succeed, and a run is cancelled."""
    release.deploy({"controllers.replicaCount": 2})
    reported("helm install --wait")
    release.helm("test", "agents", "--timeout", "120s")
    reported("helm test")
    k = release.kubectl
    for item in SAMPLE_AGENT:
        k(f"apply -f {EXAMPLES / item}-sample.yaml")
    release.wait_for("AgentRun", "review-branch-main", "Succeeded")
    reported("AgentRun of the examples")
    for item in (*SMOKE_AGENT, "agentrun-workflow"):
        k(f"apply -f {EXAMPLES / item}-smoke.yaml")
    release.wait_for("AgentRun", "workflow-smoke", "Succeeded")
    reported("AgentRun of the examples with a workflow of two steps")
    for item in (
        "tool-sample",
        "orchestration-diamond",
        "orchestrationrun-diamond",
        "orchestrationrun-inline",
    ):
        k(f"apply -f {EXAMPLES / item}.yaml")
    for item in ("diamond-1", "fan-out-1"):
        release.wait_for("OrchestrationRun", item, "Succeeded")
    reported("two OrchestrationRuns of the examples, nine steps")
    slow = yaml.safe_load((EXAMPLES / "tool-sample.yaml").read_text())
    slow["metadata"]["name"], slow["spec"]["command"] = "slow", ["/bin/sleep", "600"]
    slow["spec"]["timeoutSeconds"] = 600
    k("apply -f -", slow)
    release.api().create(
        "OrchestrationRun",
        "stopped",
        {
            "orchestration": {
                "steps": [
                    {"name": "one", "kind": "ToolRun", "toolRef": {"name": "slow"}, "with": {"who": "x"}}
                ]
            }
        },
    )
    working = "jangar.proompteng.ai/step=one"
    wait_for(
        lambda: any(_runs(pod) for pod in release.pods(working)), what="a container at work", seconds=PATIENCE
    )
    reported("a run to be cancelled is at work")
    k('patch orun stopped --type=merge -p \'{"spec":{"cancel":true}}\'')
    release.wait_for("OrchestrationRun", "stopped", "Cancelled")
    assert not any(_runs(pod) for pod in release.pods(working))
    reported("cancel, every container ended")


def _is_ready(client) -> bool:
    """The node's proxy learns of a ready pod slightly later than its Deployment."""
    try:
        return client.request("GET", "/ready").is_success
    except OSError:
        return False


def _runs(pod) -> bool:
    return any(
        "running" in container_status.get("state", {})
        for container_status in pod.get("status", {}).get("containerStatuses", ())
    )


def test_the_control_plane_shows_what_its_callers_may_read(release):
    """Ready, through its Service, with the permissions of the chart; a caller acts with its own token."""
    release.deploy()
    service = release.kubectl.json("get service agents")
    client = release.http(f"http://{service['spec']['clusterIP']}:{service['spec']['ports'][0]['port']}")
    wait_for(lambda: _is_ready(client), what="a ready control plane")
    assert client.request("GET", "/v1/runs").status == 401
    release.kubectl("create serviceaccount viewer")
    release.kubectl(
        "create role viewer --verb=get,list,watch --resource=orchestrationruns.orchestration.proompteng.ai"
    )
    release.kubectl(f"create rolebinding viewer --role=viewer --serviceaccount={release.namespace}:viewer")
    token = release.kubectl("create token viewer").strip()
    caller = {"Authorization": f"Bearer {token}"}
    listed = client.request("GET", "/v1/runs", headers=caller)
    assert listed.status == 200, listed.body

    def held() -> dict[str, int]:
        reported = client.request("GET", "/v1/control-plane/status", headers=caller).body
        return {controller["version"]: controller["shards"] for controller in reported["controllers"]}

    wait_for(lambda: held() == {NOW: 12}, what="that it shows which version holds which shards")


@pytest.mark.rule("RUN-3")
def test_an_upgrade_and_a_rollback_neither_lose_nor_duplicate_work(release, pods, ends, reported):
    """Runs continue while every controller is replaced by another version, and again on rollback."""
    release.deploy({"controllers.replicaCount": 2})
    reported("helm install --wait")
    load = Load(release.api(), ends, total=40, at_once=6, steps=2)
    load.wait_for(4, seconds=PATIENCE)
    reported("first 4 runs")
    release.deploy({"controllers.replicaCount": 2}, version=NEXT)
    reported("helm upgrade --wait")
    wait_for(
        lambda: release.versions() == {NEXT: 12},
        what="that the new version holds every shard",
        seconds=PATIENCE,
    )
    load.wait_for(4, seconds=PATIENCE)
    reported("4 more runs")
    release.helm("rollback", "agents", "1", "--wait", "--timeout", "180s")
    reported("helm rollback --wait")
    wait_for(
        lambda: release.versions() == {NOW: 12},
        what="that the old version holds every shard again",
        seconds=PATIENCE,
    )
    load.finish(seconds=300)
    reported("all 40 runs, 80 steps")
    assert_once(load, release.namespace, pods, ends)


@pytest.mark.rule("GC-7")
def test_an_uninstall_during_work_leaves_nothing_stuck(release, pods, ends, reported):
    """The hook removes every finalizer: everything left, and the namespace, can be deleted at once."""
    release.deploy()
    reported("helm install --wait")
    load = Load(release.api(), ends, total=12, at_once=12, steps=2)
    wait_for(lambda: sum(pods.executions(release.namespace).values()) >= 4, what="work", seconds=PATIENCE)
    load.stop()
    reported("12 runs at work")
    release.helm("uninstall", "agents", "--wait", "--timeout", "180s")
    reported("helm uninstall --wait")
    k = release.kubectl
    kinds = "orchestrationruns,agentruns,toolruns,jobs,pods"
    held = [
        item["metadata"]["name"]
        for item in k.json(f"get {kinds}")["items"]
        if any(name.startswith(FINALIZER) for name in item["metadata"].get("finalizers", ()))
    ]
    assert held == []
    left = k("get deployments,roles,rolebindings,networkpolicies,services,serviceaccounts -o name").split()
    assert left == ["serviceaccount/default"]
    k(f"delete namespace {release.namespace} --wait=false")
    wait_for(
        lambda: not k(f"get namespace {release.namespace} --ignore-not-found"),
        what="the deletion of the namespace",
        seconds=PATIENCE,
    )
    reported("namespace deleted")
    assert release.kubectl.json("get crds -l app.kubernetes.io/part-of!=x")["items"], "definitions stay"
    k("create namespace " + release.namespace)
