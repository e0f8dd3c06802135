"""Misbehaving nodes: evictions, memory, images, late reports and no reports, on a real API server."""

from datetime import UTC, datetime, timedelta

import pytest

from contract.engine.engine_namespace import step
from support.fake_kubelet import Fate, Manners

pytestmark = pytest.mark.parametrize("bed", ["apiserver"], indirect=True)


def doing(fate):
    """Node behavior that applies once to each of these pods; later pods run normally."""
    treated = {}
    return Manners(fate=lambda pod: treated.setdefault(pod.uid, Fate.LIVES if treated else fate))


@pytest.mark.rule("GC-3", "DAG-9")
def test_an_evicted_pod_is_a_failure_that_is_retried(namespace):
    """Evicted, and the next attempt succeeds."""
    namespace.tool("slow", "sleep 2")
    with namespace.bed.kubelet.behaving(doing(Fate.EVICTED)):
        run = namespace.run_of([step("work", "slow", retries=1)])
        run.ends("Succeeded")
    assert [attempt["reason"] for attempt in run.steps["work"]["attempts"]] == ["Evicted"]
    namespace.await_executions(work=2)


@pytest.mark.rule("GC-8")
def test_a_program_that_ran_out_of_memory_is_reported(namespace):
    """OOMKilled with its exit code."""
    with namespace.bed.kubelet.behaving(doing(Fate.OUT_OF_MEMORY)):
        run = namespace.run_of([step("work", "forever")])
        run.ends("Failed")
    assert run.reasons()["work"] == "OOMKilled"
    assert run.steps["work"]["exitCode"] == 137


@pytest.mark.rule("DAG-10")
def test_an_image_that_cannot_be_pulled_is_bounded_by_the_timeout(namespace):
    """Waiting counts: the step is stopped at its timeout although its program never started."""
    with namespace.bed.kubelet.behaving(doing(Fate.NO_IMAGE)):
        run = namespace.run_of([step("work", timeoutSeconds=3)])
        run.ends("Failed")
    assert run.reasons()["work"] == "StepTimedOut"
    namespace.await_executions()


@pytest.mark.rule("CAN-7")
def test_work_that_ended_before_the_request_keeps_its_result(namespace):
    """Its end is reported three seconds late, with a cancel in between: the actual result wins."""
    namespace.tool("quick", 'echo done > "$JANGAR_RESULT_PATH"')
    with namespace.bed.kubelet.behaving(Manners(delay=4)):
        run = namespace.run_of([step("work", "quick")])
        run.works("work")
        namespace.await_(lambda: run.steps["work"]["phase"] == "Running", "that it runs")
        _two_seconds_after_its_start(namespace, run)
        run.cancel()
        run.ends("Succeeded")
    assert run.steps["work"]["outputs"] == {"result": "done"}
    assert run.condition("CancelIgnored")["reason"] == "AlreadySucceeded"


def _two_seconds_after_its_start(namespace, run):
    began = datetime.fromisoformat(run.steps["work"]["startedAt"])
    namespace.await_(lambda: datetime.now(UTC) > began + timedelta(seconds=2), "two seconds")


@pytest.mark.rule("RUN-3")
def test_a_second_pod_of_one_job_is_ended_and_reported(namespace):
    """DuplicateExecution: the first one's outcome counts."""
    run = namespace.run_of([step("work", "forever")])
    run.works("work")
    (pod,) = namespace.api.all("Pod")
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    meta = {key: pod["metadata"][key] for key in ("labels", "ownerReferences", "finalizers")}
    namespace.api.create("Pod", "second", spec, metadata={"name": "second", **meta})
    namespace.await_(
        lambda: "DuplicateExecution" in {item["reason"] for item in namespace.api.all("Event")},
        "that it is reported",
    )
    namespace.await_(lambda: not namespace.api.find("Pod", "second"), "that the second pod is deleted")
    assert run.phases()["work"] == "Running"
    run.cancel()
    run.ends("Cancelled")


@pytest.mark.rule("CAN-6")
def test_a_silent_node_is_abandoned_at_the_deadline(namespace):
    """The run is Cancelled after the deadline: CancelTimedOut, with what may still run."""
    with namespace.bed.kubelet.behaving(Manners(reports_end=lambda _: False)):
        run = namespace.run_of([step("work", "forever")])
        run.works("work")
        run.cancel()
        status = run.ends("Cancelled", seconds=75)
    assert run.condition("Cancelled")["reason"] == "CancelTimedOut"
    assert status["cancel"]["leftBehind"]
