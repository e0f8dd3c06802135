"""Cancel with real programs that obey, that exit 0, and that ignore the signal; early, late and too late."""

import time

import pytest

from contract.engine.engine_beds import settle
from contract.engine.engine_namespace import nested, step

pytestmark = pytest.mark.rule("CAN-5")

PRETENDS = 'trap "exit 0" TERM; while :; do sleep 0.1; done'
DEAF = 'trap "" TERM; while :; do sleep 0.2; done'
GRACE = 30.0
"""Kubernetes' own grace period before a program that ignores SIGTERM is killed."""


@pytest.mark.rule("CAN-1", "CAN-2", "CAN-4", "ST-2")
def test_a_program_that_obeys_is_cancelled(namespace):
    """SIGTERM ends it, its step is Cancelled, and steps that have not started are Skipped."""
    run = namespace.run_of([step("work", "forever"), step("after")])
    run.works("work")
    run.cancel()
    status = run.ends("Cancelled")
    assert run.phases() == {"work": "Cancelled", "after": "Skipped"}
    assert run.reasons()["after"] == "RunCancelled"
    assert run.condition("Cancelled")["status"] == "True"
    assert status["cancel"]["requestedAt"] <= status["finishedAt"]
    assert status["observedGeneration"] == run.object["metadata"]["generation"]
    assert [job["spec"]["suspend"] for job in run.jobs()] == [True]
    namespace.await_executions(work=1)


@pytest.mark.rule("CAN-7")
def test_a_program_that_exits_0_on_the_signal_is_cancelled_all_the_same(namespace):
    """A stopped attempt never succeeds, whatever its exit code."""
    namespace.tool("pretends", PRETENDS)
    run = namespace.run_of([step("work", "pretends"), step("after")])
    run.works("work")
    settle(1.1)  # whole seconds cannot order an end within the second of the request
    run.cancel()
    run.ends("Cancelled")
    assert run.phases() == {"work": "Cancelled", "after": "Skipped"}
    namespace.await_executions(work=1)


@pytest.mark.rule("CAN-4", "CAN-6")
def test_a_program_that_ignores_sigterm_is_killed_after_its_grace_period(namespace):
    """The run is Cancelling while the program may run, and Cancelled once its end is observed."""
    namespace.tool("deaf", DEAF)
    run = namespace.run_of([step("work", "deaf")])
    run.works("work")
    began = time.monotonic()
    run.cancel()
    namespace.await_(
        lambda: run.status["phase"] == "Cancelling", "that the request is acknowledged", seconds=10
    )
    status = run.ends("Cancelled", seconds=GRACE + 25)
    assert GRACE - 2 <= time.monotonic() - began < GRACE + 20
    assert run.condition("Cancelled")["reason"] == "Cancelled"
    assert "leftBehind" not in status["cancel"]
    namespace.await_executions(work=1)


@pytest.mark.rule("CAN-1", "CAN-3")
def test_cancel_reaches_the_work_of_nested_runs(namespace):
    """The desired state is another way to cancel, and it reaches the last child."""
    namespace.orchestration("inner", [step("deep", "forever")])
    run = namespace.run_of([nested("call", "inner")])
    run.reaches(call="Running")
    namespace.await_(lambda: namespace.executions()["deep"], "that the nested work begins")
    run.change(desiredState="Cancelled")
    run.ends("Cancelled")
    inner = next(
        item for item in namespace.api.all("OrchestrationRun") if item["metadata"]["name"] != run.name
    )
    assert inner["status"]["phase"] == "Cancelled"
    assert inner["status"]["finishedAt"] <= run.status["finishedAt"]
    assert {item["status"]["phase"] for item in namespace.api.all("ToolRun")} == {"Cancelled"}


@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_run_cancelled_before_it_starts_starts_nothing(namespace):
    """Created with the request: no child is ever created, and every step is Skipped."""
    namespace.orchestration("two", [step("one"), step("two")])
    run = namespace.run("two", cancel=True)
    run.ends("Cancelled")
    assert run.phases() == {"one": "Skipped", "two": "Skipped"}
    assert run.children() == []
    namespace.await_executions()


@pytest.mark.rule("CAN-7", "ST-3", "ST-4")
def test_a_finished_run_is_not_changed(namespace):
    """Phase and times stay, CancelIgnored has the reason, observedGeneration advances."""
    run = namespace.run_of([step("one")])
    before = run.ends("Succeeded")
    run.cancel()
    namespace.await_(
        lambda: run.condition("CancelIgnored").get("status") == "True", "that the request is answered"
    )
    after = run.status
    assert run.condition("CancelIgnored")["reason"] == "AlreadySucceeded"
    assert after["observedGeneration"] == run.object["metadata"]["generation"]
    kept = ("phase", "startedAt", "finishedAt", "stepStatuses", "counts")
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}


@pytest.mark.rule("CAN-8")
def test_a_step_that_waits_to_retry_is_cancelled(namespace):
    """There is nothing to stop; the next attempt never starts."""
    run = namespace.run_of([step("flaky", "bad", retries=5, retryBackoffSeconds=600)])
    run.reaches(flaky="Retrying")
    run.cancel()
    run.ends("Cancelled")
    assert run.phases() == {"flaky": "Cancelled"}
    namespace.await_executions(flaky=1)


@pytest.mark.rule("DAG-15")
def test_a_suspended_run_starts_nothing_until_it_is_resumed(namespace):
    """Running work continues, nothing new starts, and `false` resumes."""
    namespace.tool("slow", "sleep 2")
    run = namespace.run_of([step("one", "slow"), step("two")])
    run.works("one")
    run.change(suspend=True)
    run.reaches(one="Succeeded", two="Pending")
    assert run.condition("Suspended")["status"] == "True"
    settle(1.5)
    assert run.phases()["two"] == "Pending"
    run.change(suspend=False)
    run.ends("Succeeded")
    assert run.condition("Suspended")["status"] == "False"
    namespace.await_executions(one=1, two=1)


@pytest.mark.rule("DAG-15", "CAN-8")
def test_a_run_created_suspended_is_pending_and_can_be_cancelled(namespace):
    """Nothing has started, and nothing ever does."""
    namespace.orchestration("one", [step("one")])
    run = namespace.run("one", suspend=True)
    namespace.await_(lambda: run.condition("Suspended").get("status") == "True", "that it is suspended")
    assert run.status["phase"] == "Pending"
    run.cancel()
    run.ends("Cancelled")
    namespace.await_executions()
