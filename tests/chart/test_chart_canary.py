"""A canary of the controllers with Argo Rollouts on a real cluster under a load of runs."""

from typing import Any

import pytest
from chart_argo import Rollout, install_argo, why_no_argo
from chart_cluster import NEXT, NOW, PATIENCE, Load, Release, assert_once, sampled
from chart_render import rendered

from support.api_servers import wait_for

pytestmark = pytest.mark.xdist_group("engine-cluster")
SHARDS = 12
ON = {"progressiveDelivery.enabled": True}


@pytest.fixture(scope="session")
def argo() -> None:
    """Checked before a cluster is started."""
    if obstacle := why_no_argo():
        pytest.skip(obstacle)


@pytest.fixture
def rollout(argo, cluster, release) -> Rollout:
    install_argo(cluster, release.kubectl)
    return Rollout(release.kubectl, "agents-controllers")


def services(release: Release) -> dict[str, tuple[str, Any]]:
    """Each Service's uid and spec."""
    items = release.kubectl.json("get services")["items"]
    return {item["metadata"]["name"]: (item["metadata"]["uid"], item["spec"]) for item in items}


def passes(release: Release, version: str) -> float:
    """The number of reconciles of runs and children by the controllers of a version."""
    hosts = {
        member["host"] for member in release.members() if member["version"] == version and member["alive"]
    }
    total = 0.0
    for pod in release.pods():
        if pod["metadata"]["name"] in hosts:
            lines = release.metrics(pod).splitlines()
            total += sum(
                float(line.split()[-1])
                for line in lines
                if line.startswith("jangar_reconcile_total") and 'run"' in line and "not_ours" not in line
            )
    return total


@pytest.mark.rule("CHART-4", "CHART-1")
def test_a_canary_takes_its_share_and_duplicates_no_work(release, rollout, pods, ends):
    """With a load of 200 runs: while paused, both versions reconcile their shards; after an abort, only the old one;
    after retry, promotion and restart, only the new one. Every run ends once, every step runs once, and Services are
    unchanged.
    """
    values = ON | {"controllers.replicaCount": 2}
    release.deploy(values)
    rollout.wait_for("Healthy")
    before = services(release)
    load = Load(release.api(), ends, total=200, at_once=8)
    load.wait_for(8, seconds=PATIENCE)

    release.deploy(values, version=NEXT)
    rollout.wait_for("Paused")
    wait_for(
        lambda: release.versions() == {NOW: 8, NEXT: 4},
        what="that the canary holds its share",
        seconds=PATIENCE,
    )
    did = {version: passes(release, version) for version in (NOW, NEXT)}
    load.wait_for(20, seconds=PATIENCE)
    assert all(passes(release, version) > done for version, done in did.items()), "both versions reconcile"

    rollout.abort()
    rollout.wait_for("Degraded")
    wait_for(
        lambda: release.versions() == {NOW: SHARDS}, what="that the old version holds every shard", seconds=90
    )
    load.wait_for(10, seconds=PATIENCE)

    rollout.retry()
    rollout.wait_for("Paused")
    rollout.promote()
    rollout.wait_for("Healthy")
    wait_for(
        lambda: release.versions() == {NEXT: SHARDS},
        what="that the new version holds every shard",
        seconds=90,
    )
    load.wait_for(10, seconds=PATIENCE)

    assert load.ended < len(load.names), "the load has ended: nothing after this is meaningful"
    old = {pod["metadata"]["uid"] for pod in release.pods()}
    restarted = rollout.restart()
    wait_for(
        lambda: rollout.get()["status"].get("restartedAt") == restarted, what="a restart", seconds=PATIENCE
    )
    wait_for(
        lambda: not old & {pod["metadata"]["uid"] for pod in release.pods()}, what="new pods", seconds=120
    )
    rollout.wait_for("Healthy")

    load.finish(seconds=600)
    assert_once(load, release.namespace, pods, ends)
    assert services(release) == before


@pytest.mark.rule("CHART-2")
def test_every_field_of_a_rollout_exists_in_its_crd(release, rollout):
    """An unknown field would be pruned silently: a strict dry run rejects it."""
    values = ON | {
        "progressiveDelivery.components.controlPlane": True,
        "progressiveDelivery.analysis.enabled": True,
        "progressiveDelivery.canaryMetadata": {"labels": {"role": "canary"}},
        "progressiveDelivery.stableMetadata": {"labels": {"role": "stable"}},
        "progressiveDelivery.canarySteps": [
            {"setWeight": 20},
            {"pause": {"duration": "10m"}},
            {"analysis": {"templates": [{"templateName": "agents-controllers"}]}},
            {"pause": {}},
        ],
    }
    objects = rendered(values, namespace=release.namespace)
    ours = [item for item in objects.all if item["apiVersion"].startswith("argoproj.io")]
    assert sorted(our["kind"] for our in ours) == ["AnalysisTemplate", "Rollout", "Rollout"]
    kept = release.kubectl.json("apply --dry-run=server --validate=strict -f -", ours)["items"]
    steps = {
        item["kind"]: item["spec"]["strategy"]["canary"]["steps"]
        for item in kept
        if item["kind"] == "Rollout"
    }
    assert steps == {"Rollout": values["progressiveDelivery.canarySteps"]}


@pytest.mark.rule("CHART-1")
def test_switching_kinds_always_keeps_a_ready_controller(release, rollout, pods, ends):
    """Deployment, both, Rollout, both, Deployment: runs continue, and there is always a ready controller."""
    base = {"controlPlane.enabled": False, "controllers.replicaCount": 2}
    on = base | ON

    def ready() -> int:
        return sum(
            any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in pod["status"].get("conditions", ())
            )
            for pod in release.pods()
        )

    release.deploy(base)
    before = services(release)
    load = Load(release.api(), ends, total=60, at_once=4)
    load.wait_for(4, seconds=PATIENCE)
    moves: list[tuple[dict[str, Any], str]] = [
        (on | {"progressiveDelivery.migration": "sideBySide"}, "Healthy"),
        (on | {"progressiveDelivery.migration": "cutover"}, "Healthy"),
        (on, "Healthy"),
        (on | {"progressiveDelivery.migration": "sideBySide"}, "Healthy"),
        (base | {"progressiveDelivery.migration": "cutover"}, "Healthy"),
        (base, ""),
    ]
    with sampled(ready) as samples:
        for values, phase in moves:
            release.deploy(values)
            if phase:
                rollout.wait_for(phase)
            load.wait_for(4, seconds=PATIENCE)
    assert min(samples) >= 1, samples
    assert release.kubectl("get rollouts -o name").strip() == ""
    load.finish(seconds=300)
    assert_once(load, release.namespace, pods, ends)
    assert services(release) == before
