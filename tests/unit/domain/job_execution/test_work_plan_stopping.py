"""How work that runs is stopped, how it ends by itself, and what a Job that vanished means."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from jangar.api.phases import OnJobMissing
from jangar.domain.cancellation import Requester
from jangar.domain.conditions import ConditionStatus
from jangar.domain.job_execution.actions import CreateJob, DeletePod, DeletePods, ReleasePod, SuspendJob
from jangar.domain.job_execution.facts import ContainerFacts, Terminated
from support.builders import at
from support.work_world import Death, a_world


def cancelled(world, *, by=Requester.CANCEL):
    world.child = replace(world.child, requested_by=frozenset({by}))


def running(**facts):
    """A child whose pod has been seen to run, ten seconds after noon."""
    world = a_world(**facts)
    world.run_pass()
    world.sync_job()
    world.advance(10)
    world.start_pod(the_pod(world).uid)
    world.run_pass()
    return world


def the_pod(world):
    (pod,) = world.pods.values()
    return pod


def end(world, code):
    world.end_containers(the_pod(world).uid, code)
    world.end_pod(the_pod(world).uid)


def verdict(world):
    return world.status["phase"], world.status["reason"]


@pytest.mark.rule("CAN-2", "CAN-4")
def test_a_cancel_is_announced_in_the_write_before_the_job_is_suspended():
    """Phase, request and stop are in the status before the Job is suspended."""
    world = running()
    cancelled(world)
    with pytest.raises(Death):
        world.run_pass(dies_at=1)
    assert verdict(world) == ("Cancelling", "Cancelling")
    assert world.status["stop"] | {"deadline": ""} == {
        "requestedAt": "2026-02-07T12:00:10Z",
        "reason": "Cancelled",
        "deadline": "",
    }
    assert not world.job.suspended
    plan = world.run_pass()
    assert plan.actions == (SuspendJob(name=world.job.name, uid=world.job.uid),)
    assert world.job.suspended


@pytest.mark.parametrize("code", [0, 143])
@pytest.mark.rule("CAN-5", "CAN-7")
def test_what_ends_after_its_stop_is_cancelled_whatever_its_exit_code(code):
    """A program that traps TERM and exits with 0 was still stopped; the code is kept."""
    world = running()
    cancelled(world)
    world.run_pass()
    world.sync_job()
    world.advance(1)
    end(world, code)
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert world.status["outcome"]["exitCode"] == code


@pytest.mark.parametrize(("code", "expected"), [(0, "Succeeded"), (3, "Failed")])
@pytest.mark.rule("CAN-7")
def test_what_ended_before_its_stop_keeps_its_result(code, expected):
    """Truth before order; that the cancel cut nothing is said."""
    world = running()
    world.end_containers(the_pod(world).uid, code)
    world.advance(1)
    cancelled(world)
    world.run_pass()
    assert world.status["phase"] == expected
    ignored = next(
        condition for condition in world.status["conditions"] if condition["type"] == "CancelIgnored"
    )
    assert ignored["reason"] == f"Already{expected}"


@pytest.mark.rule("DAG-10", "CAN-4")
def test_a_time_limit_stops_the_work_and_fails_it():
    """On its timer, announced like a cancel, and with its own reason."""
    world = running(timeout=timedelta(seconds=30))
    plan = world.run_pass()
    assert plan.look_again_at == at(30)
    world.advance(20)
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Running", "Stopping")
    assert world.job.suspended
    end(world, 0)
    world.run_pass()
    assert verdict(world) == ("Failed", "StepTimedOut")


@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_cancel_between_intent_and_create_waits_until_no_create_can_come():
    """Nothing is found, looked for again after the request timeout, and then it ends."""
    world = a_world()
    with pytest.raises(Death):
        world.run_pass(dies_at=1)
    cancelled(world)
    plan = world.run_pass()
    assert verdict(world) == ("Cancelling", "Cancelling")
    assert plan.look_again_at == at(10)
    world.advance(10)
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert not world.creates


@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_create_that_arrives_after_a_cancel_is_found_and_stopped():
    """It was on the wire when the process died."""
    world = a_world()
    with pytest.raises(Death):
        world.run_pass(dies_at=1)
    cancelled(world)
    world.run_pass()
    world.create(world.on_the_wire.pop())
    world.advance(5)
    world.run_pass()
    assert world.job.suspended
    world.sync_job()
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")


@pytest.mark.rule("CAN-6")
def test_an_earlier_deadline_of_the_owner_counts_at_once():
    """A stop that is already in progress is bounded by it, too."""
    world = running(timeout=timedelta(seconds=20))
    world.advance(10)
    world.run_pass()
    world.child = replace(world.child, requested_by=frozenset({Requester.OWNER}), stop_deadline=at(25))
    plan = world.run_pass()
    assert plan.look_again_at == at(25)
    world.advance(5)
    world.run_pass()
    assert verdict(world) == ("Failed", "StepTimedOut")
    assert [item["kind"] for item in world.status["cancel"]["leftBehind"]] == ["Job", "Pod"]


@pytest.mark.rule("CAN-6")
def test_past_its_deadline_a_stop_ends_with_what_is_left_behind():
    """CancelTimedOut; what may still run is named and cleaned up until it has ended."""
    world = running()
    cancelled(world)
    world.run_pass()
    world.advance(60)
    world.run_pass()
    assert verdict(world) == ("Cancelled", "CancelTimedOut")
    finished = world.status["finishedAt"]
    plan = world.run_pass()
    assert plan.look_again_at == world.now + world.limits.cleanup_interval
    assert the_pod(world).deleting
    assert the_pod(world).finalizers
    end(world, 137)
    world.run_pass()
    assert all(item["endedAt"] for item in world.status["cancel"]["leftBehind"])
    assert world.status["finishedAt"] == finished
    assert world.job is None


@pytest.mark.rule("CAN-6", "CAN-2")
def test_a_create_that_may_still_come_is_left_behind_until_it_cannot():
    """With a bound shorter than the request timeout; when it comes after all, it is stopped."""
    limits = replace(a_world().limits, cancel_timeout=timedelta(seconds=5))
    world = a_world(limits=limits)
    with pytest.raises(Death):
        world.run_pass(dies_at=1)
    cancelled(world)
    world.run_pass()
    world.advance(5)
    world.run_pass()
    assert verdict(world) == ("Cancelled", "CancelTimedOut")
    world.run_pass()
    assert "endedAt" not in world.status["cancel"]["leftBehind"][0]
    late = replace(world, status=dict(world.status), creates=Counter(), pods={})
    late.create(late.on_the_wire[0])
    late.run_pass()
    assert late.job.suspended
    world.advance(5)
    world.run_pass()
    assert world.status["cancel"]["leftBehind"][0]["endedAt"]


@pytest.mark.rule("CAN-6")
def test_nothing_is_left_behind_without_a_look():
    """A controller that comes back after the deadline asks the API server before it gives up."""
    world = running()
    cancelled(world)
    world.run_pass()
    world.job = None
    world.pods.clear()
    world.advance(120)
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert "leftBehind" not in world.status["cancel"]


@pytest.mark.rule("CAN-5")
def test_a_job_that_vanishes_during_a_stop_does_not_hide_its_pods():
    """They are deleted by us and seen to end."""
    world = running()
    cancelled(world)
    world.run_pass()
    pod = the_pod(world)
    world.job = None
    plan = world.run_pass()
    assert plan.actions == (DeletePods(uids=(pod.uid,), look_again_at=at(70)),)
    assert verdict(world) == ("Cancelling", "Cancelling")
    end(world, 143)
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    world.run_pass()
    assert not world.pods


@pytest.mark.rule("GC-3")
def test_a_job_deleted_by_hand_is_announced_its_pods_ended_and_then_let_go():
    """The controller ends them: JobDeleted, whatever the pod returned; the Job is released only after the record."""
    world = running()
    world.job = replace(world.job, deleting=True)
    world.run_pass()
    assert world.status["stop"]["reason"] == "JobDeleted"
    assert the_pod(world).deleting
    world.advance(1)
    end(world, 0)
    world.run_pass()
    assert verdict(world) == ("Failed", "JobDeleted")
    assert world.job.finalizers
    world.advance(30)
    world.run_pass()
    assert world.job is None


@pytest.mark.rule("GC-3")
def test_an_evicted_pod_fails_with_its_reason():
    """And without a time of start if it never ran."""
    world = a_world()
    world.run_pass()
    world.add_pod()
    pod = the_pod(world)
    world.pods[pod.uid] = replace(pod, phase="Failed", reason="Evicted", containers=())
    world.run_pass()
    assert verdict(world) == ("Failed", "Evicted")
    assert "startedAt" not in world.status


@pytest.mark.rule("GC-8", "ST-4")
def test_work_that_was_never_observed_running_still_has_a_start():
    """Its pod ended between two looks."""
    world = a_world()
    world.run_pass()
    world.add_pod()
    end(world, 0)
    world.run_pass()
    assert verdict(world) == ("Succeeded", "Succeeded")
    assert world.status["startedAt"] == world.status["finishedAt"]


@pytest.mark.parametrize(
    ("message", "expected", "outputs"),
    [
        pytest.param('{"a": 1}', ("Succeeded", "Succeeded"), {"a": "1"}, id="an-object"),
        pytest.param("done", ("Succeeded", "Succeeded"), {"result": "done"}, id="a-text"),
        pytest.param("x" * 4097, ("Failed", "OutputsTooLarge"), None, id="too-much"),
    ],
)
@pytest.mark.rule("DAG-11")
def test_a_result_becomes_outputs(message, expected, outputs):
    """As the contract says; the exit code is kept if the result is too large."""
    world = running()
    pod = the_pod(world)
    ended = Terminated(exit_code=0, finished_at=world.now, message=message)
    world.pods[pod.uid] = replace(pod, containers=(ContainerFacts(name="main", terminated=ended),))
    world.run_pass()
    assert verdict(world) == expected
    assert world.status.get("outputs") == outputs
    assert world.status["outcome"]["exitCode"] == 0


def missing(world):
    found = {condition["type"]: condition["status"] for condition in world.status["conditions"]}
    return found.get("WorkflowJobMissing")


@pytest.mark.rule("GC-2")
def test_a_job_that_was_seen_and_is_gone_fails_the_child():
    """By default, because agents have side effects; the condition says it."""
    world = running()
    world.job = None
    world.pods.clear()
    world.run_pass()
    assert verdict(world) == ("Failed", "WorkflowJobMissing")
    assert missing(world) == ConditionStatus.TRUE
    world.run_pass()
    assert missing(world) == ConditionStatus.TRUE


@pytest.mark.rule("GC-1", "GC-2")
@pytest.mark.parametrize("policy", list(OnJobMissing))
def test_the_result_of_a_pod_that_outlived_its_job_is_not_lost(policy):
    """We hold the pod: what it returned counts, whatever became of the Job."""
    world = running(on_job_missing=policy)
    world.end_containers(the_pod(world).uid, 0)
    world.advance(1)
    world.lose_job()
    world.run_pass()
    assert verdict(world) == ("Succeeded", "Succeeded")


@pytest.mark.rule("GC-2", "DAG-9")
def test_a_lost_job_is_tried_again_only_when_its_pods_have_ended_and_gone():
    """With Retry; the lost attempt is recorded first, its pods are ended and released, and then the next one starts."""
    world = running(on_job_missing=OnJobMissing.RETRY)
    first, pod = world.status["job"]["name"], the_pod(world)
    world.job = None
    plan = world.run_pass()
    assert plan.actions == (DeletePod(name=pod.name, uid=pod.uid),)
    assert [attempt["attempt"] for attempt in world.status["attempts"]] == [1]
    assert missing(world) == ConditionStatus.TRUE
    world.run_pass()
    assert world.creates == {first: 1}
    world.advance(1)
    end(world, 143)
    plan = world.run_pass()
    assert [type(action) for action in plan.actions] == [ReleasePod]
    plan = world.run_pass()
    second = world.status["job"]["name"]
    assert plan.actions == (CreateJob(name=second, attempt=2),)
    assert world.creates == {first: 1, second: 1}
    world.add_pod()
    world.start_pod(the_pod(world).uid)
    world.run_pass()
    assert missing(world) == ConditionStatus.FALSE
    assert "is gone" not in world.status.get("message", "")


@pytest.mark.rule("CAN-8")
def test_a_cancel_between_two_attempts_starts_no_other():
    """The lost attempt's pods are ended, and the child is cancelled."""
    world = running(on_job_missing=OnJobMissing.RETRY)
    world.lose_job()
    world.run_pass()
    cancelled(world)
    world.run_pass()
    assert verdict(world) == ("Cancelling", "Cancelling")
    end(world, 143)
    world.run_pass()
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert len(world.creates) == 1
    assert not world.pods
