"""Work lost to others: Jobs, pods, children, runs and namespaces deleted while work runs."""

import time

import pytest

from contract.engine.engine_beds import settle
from contract.engine.engine_place import nested, step


def pods(place):
    return place.api.all("Pod")


@pytest.mark.rule("GC-1", "GC-3", "CAN-7")
def test_deleting_a_job_by_hand_is_a_failure_and_ends_its_program(place):
    """The finalizer keeps the Job until the program has ended and its end is recorded: JobDeleted."""
    run = place.run_of([step("work", "forever"), step("after")])
    run.works("work")
    (job,) = run.jobs()
    place.api.delete("Job", job["metadata"]["name"])
    run.ends("Failed")
    assert run.reasons() == {"work": "JobDeleted", "after": "DependencyFailed"}
    (child,) = run.children()
    assert child["status"]["outcome"]["reason"] == "JobDeleted"
    place.await_(lambda: not pods(place), "that its pod goes")
    place.await_executions(work=1)


@pytest.mark.rule("GC-3")
def test_deleting_a_pod_by_hand_is_a_failure(place):
    """PodDeleted, and no second pod is started for it."""
    run = place.run_of([step("work", "forever")])
    run.works("work")
    (pod,) = pods(place)
    place.api.delete("Pod", pod["metadata"]["name"])
    run.ends("Failed")
    assert run.reasons()["work"] == "PodDeleted"
    place.await_(
        lambda: pod["metadata"]["uid"] not in [p["metadata"]["uid"] for p in pods(place)], "that it goes"
    )
    place.await_executions(work=1)


@pytest.mark.rule("GC-3", "DAG-9")
def test_a_step_whose_pod_was_deleted_is_retried(place):
    """An ordinary failure, once the first attempt's work is known to have ended."""
    place.tool("patient", "sleep 4")
    run = place.run_of([step("work", "patient", retries=1)])
    run.works("work")
    (pod,) = pods(place)
    place.api.delete("Pod", pod["metadata"]["name"], gracePeriodSeconds=1)
    run.ends("Succeeded")
    assert run.steps["work"]["attempts"][0]["reason"] == "PodDeleted"
    place.await_executions(work=2)


@pytest.mark.rule("GC-1", "GC-2", "GC-4")
def test_a_job_expires_and_its_run_keeps_the_result(place):
    """The TTL is set once the outcome is recorded; the Job is deleted, the run and its outputs are unchanged."""
    place.tool("brief", 'echo kept > "$JANGAR_RESULT_PATH"', ttlSecondsAfterFinished=1)
    run = place.run_of([step("work", "brief")])
    before = run.ends("Succeeded")
    assert run.steps["work"]["outputs"] == {"result": "kept"}
    place.await_(lambda: not run.jobs() and not pods(place), "that the Job expires", seconds=60)
    settle(1)
    after = run.status
    assert {key: after[key] for key in ("phase", "finishedAt", "stepStatuses")} == {
        key: before[key] for key in ("phase", "finishedAt", "stepStatuses")
    }
    (child,) = run.children()
    assert child["status"]["phase"] == "Succeeded"
    assert run.condition("WorkflowJobMissing").get("status") != "True"
    place.await_executions(work=1)


@pytest.mark.rule("GC-9")
def test_deleting_a_child_by_hand_fails_its_step(place):
    """Its work is ended first; the step reports ChildDeleted."""
    run = place.run_of([step("work", "forever")])
    run.works("work")
    (child,) = run.children()
    place.api.delete("ToolRun", child["metadata"]["name"])
    run.ends("Failed")
    assert run.reasons()["work"] == "ChildDeleted"
    place.await_(lambda: not pods(place), "that its pod goes", seconds=60)
    place.await_executions(work=1)


@pytest.mark.rule("DAG-7", "CAN-7")
def test_cancelling_a_child_by_hand_fails_its_run(place):
    """Never ignored, never retried: a user requested it."""
    run = place.run_of([step("work", "forever", retries=2, continueOnFailure=True)])
    run.works("work")
    (child,) = run.children()
    place.api.merge("ToolRun", child["metadata"]["name"], {"spec": {"cancel": True}})
    run.ends("Failed")
    assert run.phases()["work"] == "Cancelled"
    place.await_executions(work=1)


@pytest.mark.rule("GC-9")
def test_deleting_a_run_stops_its_work_and_leaves_nothing(place):
    """Deleting is a cancel that also removes: the program is ended, then every object is deleted."""
    place.orchestration("inner", [step("deep", "forever")])
    run = place.run_of([step("work", "forever", []), nested("call", "inner", [])])
    run.works("work")
    place.await_(lambda: place.executions()["deep"], "that the nested work begins")
    place.api.delete("OrchestrationRun", run.name)
    place.await_(
        lambda: not any(place.api.all(kind) for kind in ("OrchestrationRun", "ToolRun", "Job", "Pod")),
        "that run, children, Jobs and pods go",
        seconds=60,
    )
    place.await_executions(work=1, deep=1)


@pytest.mark.rule("GC-9")
def test_a_namespace_can_be_deleted_while_its_runs_are_active(place):
    """Work is stopped, finalizers are removed, nothing is created, and the namespace is deleted."""
    run = place.run_of([step("work", "forever"), step("after")])
    run.works("work")
    began = time.monotonic()
    place.api.delete("Namespace", place.api.namespace)
    place.await_(
        lambda: place.api.find("Namespace", place.api.namespace) is None,
        "that the namespace goes",
        seconds=90,
    )
    assert time.monotonic() - began < 90
    assert place.executions()["after"] == 0
