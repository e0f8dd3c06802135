"""Work lost to others: Jobs, pods, children, runs and namespaces deleted while work runs."""

import time

import pytest

from contract.engine.engine_beds import settle
from contract.engine.engine_namespace import nested, step


def pods(namespace):
    return namespace.api.all("Pod")


@pytest.mark.rule("GC-1", "GC-3", "CAN-7")
def test_deleting_a_job_by_hand_is_a_failure_and_ends_its_program(namespace):
    """The finalizer keeps the Job until the program has ended and its end is recorded: JobDeleted."""
    run = namespace.run_of([step("work", "forever"), step("after")])
    run.works("work")
    (job,) = run.jobs()
    namespace.api.delete("Job", job["metadata"]["name"])
    run.ends("Failed")
    assert run.reasons() == {"work": "JobDeleted", "after": "DependencyFailed"}
    (child,) = run.children()
    assert child["status"]["outcome"]["reason"] == "JobDeleted"
    namespace.await_(lambda: not pods(namespace), "that its pod is deleted")
    namespace.await_executions(work=1)


@pytest.mark.rule("GC-3")
def test_deleting_a_pod_by_hand_is_a_failure(namespace):
    """PodDeleted, and no second pod is started for it."""
    run = namespace.run_of([step("work", "forever")])
    run.works("work")
    (pod,) = pods(namespace)
    namespace.api.delete("Pod", pod["metadata"]["name"])
    run.ends("Failed")
    assert run.reasons()["work"] == "PodDeleted"
    namespace.await_(
        lambda: pod["metadata"]["uid"] not in [p["metadata"]["uid"] for p in pods(namespace)],
        "that it is deleted",
    )
    namespace.await_executions(work=1)


@pytest.mark.rule("GC-3", "DAG-9")
def test_a_step_whose_pod_was_deleted_is_retried(namespace):
    """An ordinary failure, once the first attempt's work is known to have ended."""
    namespace.tool("patient", "sleep 4")
    run = namespace.run_of([step("work", "patient", retries=1)])
    run.works("work")
    (pod,) = pods(namespace)
    namespace.api.delete("Pod", pod["metadata"]["name"], gracePeriodSeconds=1)
    run.ends("Succeeded")
    assert run.steps["work"]["attempts"][0]["reason"] == "PodDeleted"
    namespace.await_executions(work=2)


@pytest.mark.rule("GC-1", "GC-2", "GC-4")
def test_a_job_expires_and_its_run_keeps_the_result(namespace):
    """The TTL is set once the outcome is recorded; the Job is deleted, the run and its outputs are unchanged."""
    namespace.tool("brief", 'echo kept > "$JANGAR_RESULT_PATH"', ttlSecondsAfterFinished=1)
    run = namespace.run_of([step("work", "brief")])
    before = run.ends("Succeeded")
    assert run.steps["work"]["outputs"] == {"result": "kept"}
    namespace.await_(lambda: not run.jobs() and not pods(namespace), "that the Job expires", seconds=60)
    settle(1)
    after = run.status
    assert {key: after[key] for key in ("phase", "finishedAt", "stepStatuses")} == {
        key: before[key] for key in ("phase", "finishedAt", "stepStatuses")
    }
    (child,) = run.children()
    assert child["status"]["phase"] == "Succeeded"
    assert run.condition("WorkflowJobMissing").get("status") != "True"
    namespace.await_executions(work=1)


@pytest.mark.rule("GC-9")
def test_deleting_a_child_by_hand_fails_its_step(namespace):
    """Its work is ended first; the step reports ChildDeleted."""
    run = namespace.run_of([step("work", "forever")])
    run.works("work")
    (child,) = run.children()
    namespace.api.delete("ToolRun", child["metadata"]["name"])
    run.ends("Failed")
    assert run.reasons()["work"] == "ChildDeleted"
    namespace.await_(lambda: not pods(namespace), "that its pod is deleted", seconds=60)
    namespace.await_executions(work=1)


@pytest.mark.rule("DAG-7", "CAN-7")
def test_cancelling_a_child_by_hand_fails_its_run(namespace):
    """Never ignored, never retried: a user requested it."""
    run = namespace.run_of([step("work", "forever", retries=2, continueOnFailure=True)])
    run.works("work")
    (child,) = run.children()
    namespace.api.merge("ToolRun", child["metadata"]["name"], {"spec": {"cancel": True}})
    run.ends("Failed")
    assert run.phases()["work"] == "Cancelled"
    namespace.await_executions(work=1)


@pytest.mark.rule("GC-9")
def test_deleting_a_run_stops_its_work_and_leaves_nothing(namespace):
    """Deleting is a cancel that also removes: the program is ended, then every object is deleted."""
    namespace.orchestration("inner", [step("deep", "forever")])
    run = namespace.run_of([step("work", "forever", []), nested("call", "inner", [])])
    run.works("work")
    namespace.await_(lambda: namespace.executions()["deep"], "that the nested work begins")
    namespace.api.delete("OrchestrationRun", run.name)
    namespace.await_(
        lambda: not any(namespace.api.all(kind) for kind in ("OrchestrationRun", "ToolRun", "Job", "Pod")),
        "that run, children, Jobs and pods go",
        seconds=60,
    )
    namespace.await_executions(work=1, deep=1)


@pytest.mark.rule("GC-9")
def test_a_namespace_can_be_deleted_while_its_runs_are_active(namespace):
    """Work is stopped, finalizers are removed, nothing is created, and the namespace is deleted."""
    run = namespace.run_of([step("work", "forever"), step("after")])
    run.works("work")
    began = time.monotonic()
    namespace.api.delete("Namespace", namespace.api.namespace)
    namespace.await_(
        lambda: namespace.api.find("Namespace", namespace.api.namespace) is None,
        "that the namespace is deleted",
        seconds=90,
    )
    assert time.monotonic() - began < 90
    assert namespace.executions()["after"] == 0
