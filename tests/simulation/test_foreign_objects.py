"""Foreign objects with the names of a run's own are neither adopted nor waited for (E1, E11)."""

import base64

import pytest

from jangar.controllers.orchestrationrun.definitions import KEY
from jangar.controllers.resources import ATTEMPT, RUN_UID, STEP
from jangar.domain.orchestration.child_names import child_name
from jangar.domain.orchestration.snapshot import encode_snapshot, snapshot_hash, snapshot_name
from kubekit.client.api_client import PatchKind
from kubekit.client.builtin import CONFIG_MAPS
from simulation.bed import NAMESPACE, ORCHESTRATIONS, RUNS, TOOL_RUNS, Bed, bed, step
from simulation.simulated_cluster import Work
from support.virtual_time import run_virtual

STEPS = [step("a"), step("b", "a")]


def owner_of(run):
    return {
        "apiVersion": RUNS.api_version,
        "kind": RUNS.kind,
        "name": run["metadata"]["name"],
        "uid": run["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


async def forge(made: Bed, run, step_name, *, attempt=1, work="forged", name=None, tool="work"):
    """A ToolRun as a user can write it who may create ToolRuns and read runs."""
    uid = run["metadata"]["uid"]
    return await made.client.create(
        TOOL_RUNS,
        {
            "apiVersion": TOOL_RUNS.api_version,
            "kind": TOOL_RUNS.kind,
            "metadata": {
                "name": name or child_name(run["metadata"]["name"], uid, step_name, attempt),
                "namespace": NAMESPACE,
                "labels": {RUN_UID: uid, STEP: step_name, ATTEMPT: str(attempt)},
                "ownerReferences": [owner_of(run)],
            },
            "spec": {"toolRef": {"name": tool}, "parameters": {"work": work}},
        },
    )


def states(run):
    return {step_status["name"]: step_status for step_status in run["status"].get("stepStatuses") or ()}


@pytest.mark.rule("DAG-9")
def test_a_squatted_child_is_not_adopted_and_the_step_names_the_object():
    """E11: the run neither uses the outputs of a foreign ToolRun nor waits for it."""

    async def simulate():
        async with bed(scripts=lambda _name, _before: Work(result='{"x": "injected"}')) as made:
            await made.orchestration("o", STEPS)
            await made.start_run()
            run = await made.run_object()
            squat = await forge(made, run, "a")
            made.start_controllers()
            ended = await made.ended()
            first = states(ended)["a"]
            assert (first["phase"], first["reason"]) == ("Failed", "ChildNameConflict")
            assert squat["metadata"]["name"] in first["message"]
            assert squat["metadata"]["uid"] in first["message"]
            assert "outputs" not in first
            assert states(ended)["b"]["reason"] == "DependencyFailed"

    run_virtual(simulate())


def test_a_squatted_name_costs_one_attempt_if_the_step_may_retry():
    """E11: the next attempt has another name."""

    async def simulate():
        async with bed() as made:
            await made.orchestration("o", [step("a", retries=1)])
            await made.start_run()
            await forge(made, await made.run_object(), "a")
            made.start_controllers()
            ended = await made.ended()
            assert ended["status"]["phase"] == "Succeeded"
            assert states(ended)["a"]["attempts"][0]["reason"] == "ChildNameConflict"

    run_virtual(simulate())


@pytest.mark.parametrize(
    ("step_name", "attempt", "name"),
    [
        pytest.param("nothing", 1, None, id="a step that does not exist"),
        pytest.param("a", 7, None, id="an attempt that is not due"),
        pytest.param("a", 1, "mine", id="a name of its own"),
    ],
)
def test_a_forged_child_never_runs(step_name, attempt, name):
    """E1: an owner reference alone is not enough; the object is rejected with a reason."""

    async def simulate():
        async with bed(scripts=lambda name, _before: Work(runs=30.0)) as made:
            await made.orchestration("o", STEPS)
            await made.start_run()
            made.start_controllers()
            run = await made.until(lambda current: bool((current.get("status") or {}).get("stepStatuses")))
            forged = await forge(made, run, step_name, attempt=attempt, name=name)
            await made.ended()
            current = await made.client.get(TOOL_RUNS, forged["metadata"]["name"], NAMESPACE)
            assert (current["status"]["phase"], current["status"]["reason"]) == (
                "Failed",
                "OwnerNotConfirmed",
            )
            assert made.cluster.starts["forged"] == 0

    run_virtual(simulate())


@pytest.mark.rule("RUN-3", "DAG-9")
@pytest.mark.parametrize("is_restarted", [False, True], ids=["running on", "restarted"])
def test_a_run_that_lost_its_status_continues_with_its_children(is_restarted):
    """E11: after a restore without the run's status, ended children are adopted and nothing runs twice."""

    async def simulate():
        async with bed(scripts=lambda name, _before: Work(result=f'{{"of": "{name}"}}')) as made:
            await made.orchestration("o", STEPS)
            await made.start_run()
            made.start_controllers()
            before = await made.ended()
            if is_restarted:
                await made.kill_controllers()
            body = {"metadata": {"uid": before["metadata"]["uid"]}, "status": dict.fromkeys(before["status"])}
            lost = await made.client.patch(
                RUNS, "run", NAMESPACE, body, kind=PatchKind.MERGE, subresource="status"
            )
            if is_restarted:
                made.start_controllers()
            version = int(lost["metadata"]["resourceVersion"])
            await made.until(
                lambda current: int(current["metadata"]["resourceVersion"]) > version, seconds=30
            )
            after = await made.ended()
            assert after["status"]["phase"] == "Succeeded"
            assert states(after)["b"]["outputs"] == {"of": "b"}
            assert made.cluster.starts == {"a": 1, "b": 1}

    run_virtual(simulate())


@pytest.mark.rule("DAG-3")
@pytest.mark.parametrize("has_owner", [True, False], ids=["forged owner", "no owner"])
def test_a_foreign_snapshot_is_not_executed(has_owner):
    """E1: a ConfigMap with the name of the run's snapshot is not adopted; the run names the object."""

    async def simulate():
        async with bed() as made:
            await made.orchestration("o", STEPS)
            await made.start_run()
            run = await made.run_object()
            name = await squat_snapshot(
                made, run, [step("stolen")], owners=[owner_of(run)] if has_owner else []
            )
            made.start_controllers()
            ended = await made.ended()
            assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "SnapshotConflict")
            assert name in ended["status"]["message"]
            assert made.cluster.starts == {}

    run_virtual(simulate())


async def squat_snapshot(made, run, steps, *, owners):
    meta = run["metadata"]
    spec = (await made.client.get(ORCHESTRATIONS, "o", NAMESPACE))["spec"]
    name = snapshot_name(meta["name"], meta["uid"], snapshot_hash(spec))
    data = base64.b64encode(encode_snapshot({"steps": steps})).decode()
    forged = {
        "name": name,
        "namespace": NAMESPACE,
        "ownerReferences": owners,
        "labels": {RUN_UID: meta["uid"]},
    }
    await made.client.create(CONFIG_MAPS, {"metadata": forged, "immutable": True, "binaryData": {KEY: data}})
    return name


@pytest.mark.rule("DAG-16")
@pytest.mark.parametrize("spec", [{"orchestrationRef": {"name": "o"}}, {"orchestration": {"steps": STEPS}}])
def test_a_retry_cannot_claim_another_orchestration(spec):
    """E1: it executes the retried run's snapshot, so it must not name an Orchestration with another definition."""

    async def simulate():
        async with bed() as made:
            await made.orchestration("o", STEPS)
            await made.create(RUNS, "mine", {"orchestration": {"steps": [step("stolen")]}})
            made.start_controllers()
            await made.ended("mine")
            await made.create(RUNS, "run", {"retryOf": {"name": "mine"}, **spec})
            ended = await made.ended()
            assert (ended["status"]["phase"], ended["status"]["reason"]) == ("Failed", "InvalidSpec")
            assert "retryOf" in ended["status"]["message"]
            assert made.cluster.starts == {"stolen": 1}

    run_virtual(simulate())


@pytest.mark.rule("DAG-3", "DAG-16")
def test_the_source_of_a_snapshot_is_recorded_and_passed_to_a_retry():
    """E1: the Orchestration's name and uid; a definition of the run's own has none."""

    async def simulate():
        async with bed() as made:
            await made.orchestration("o", STEPS)
            uid = (await made.client.get(ORCHESTRATIONS, "o", NAMESPACE))["metadata"]["uid"]
            made.start_controllers()
            await made.start_run("first")
            await made.create(RUNS, "own", {"orchestration": {"steps": [step("c")]}})
            first, own = await made.ended("first"), await made.ended("own")
            retry = {"orchestrationRef": {"name": "o"}, "retryOf": {"name": "first", "fromStep": "b"}}
            await made.create(RUNS, "again", retry)
            again = await made.ended("again")
            assert first["status"]["snapshotRef"]["orchestration"] == {"name": "o", "uid": uid}
            assert again["status"]["snapshotRef"]["orchestration"] == {"name": "o", "uid": uid}
            assert "orchestration" not in own["status"]["snapshotRef"]

    run_virtual(simulate())
