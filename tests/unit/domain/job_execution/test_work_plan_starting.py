"""How a child's work begins: what comes before its Job, and what keeps it from beginning."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Requester
from jangar.domain.conditions import ConditionStatus
from jangar.domain.job_execution.actions import AddChildFinalizer, CreateJob, EndDuplicate
from jangar.domain.job_execution.facts import ContainerFacts
from jangar.domain.job_execution.observation import Owner, WorkMissing, WorkRefused, WorkRejected
from support.builders import at
from support.work_world import Death, a_world

MISSING = WorkMissing(message='tool "lint" does not exist')
REJECTED = WorkRejected(reason=Reason.INVALID_SPEC, message="image is missing")


def conditions(world):
    return {condition["type"]: condition["status"] for condition in world.status["conditions"]}


def an_intent(**facts):
    """A child whose controller died between the record of its first Job and the create."""
    world = a_world(**facts)
    with pytest.raises(Death):
        world.run_pass(dies_at=1)
    world.on_the_wire.clear()
    return world


def running(**facts):
    world = a_world(**facts)
    world.run_pass()
    world.sync_job()
    (uid,) = world.pods
    world.start_pod(uid)
    world.run_pass()
    assert world.status["phase"] == "Running"
    return world


@pytest.mark.rule("GC-2", "ST-4")
def test_the_intent_is_recorded_then_the_job_created_then_seen_to_run():
    """Name and attempt are in the status before the create; startedAt is set on the first observation of Running."""
    world = a_world()
    _, plan = world.planned()
    assert plan.status.job is not None
    assert plan.actions == (CreateJob(name=plan.status.job.name, attempt=1),)
    assert plan.status.lifecycle.phase is Phase.PENDING
    assert plan.status.lifecycle.started_at is None
    ran = running()
    assert ran.status["startedAt"]
    assert ran.status["job"] | {"observedAt": ""} == {
        "name": plan.status.job.name,
        "attempt": 1,
        "uid": "job-1",
        "podUid": "pod-2",
        "observedAt": "",
    }


@pytest.mark.rule("RUN-3", "GC-2")
def test_after_a_death_before_the_create_the_same_job_is_created():
    """Intent without a Job, and the API server says that there is none: create again under the same name."""
    world = an_intent()
    name = world.status["job"]["name"]
    world.run_pass()
    assert world.creates == {name: 1}
    world.run_pass()
    assert world.creates == {name: 1}


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"suspend": True}, id="suspended"),
        pytest.param({"has_finalizer": False}, id="not-held"),
    ],
)
@pytest.mark.parametrize("begin", [a_world, an_intent], ids=["new", "with-an-intent"])
@pytest.mark.rule("CAN-2", "GC-9")
def test_nothing_is_created_for_a_child_that_is_suspended_or_not_held(begin, facts):
    """Whether or not an intent is recorded: what is suspended starts nothing, and what is not held is held first."""
    world = begin()
    world.child = replace(world.child, **facts)
    _, plan = world.planned()
    assert plan.actions == (() if "suspend" in facts else (AddChildFinalizer(),))
    world.run_pass()
    assert not world.creates
    world.child = replace(world.child, suspend=False)
    world.run_pass()
    assert sum(world.creates.values()) == 1


@pytest.mark.rule("ST-5")
def test_a_suspended_child_says_so_and_goes_on_when_resumed():
    """Pending, reason Suspended, and a condition that turns False afterwards."""
    world = a_world(suspend=True)
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Pending", "Suspended")
    assert conditions(world)["Suspended"] == ConditionStatus.TRUE
    world.child = replace(world.child, suspend=False, generation=2)
    world.run_pass()
    assert conditions(world)["Suspended"] == ConditionStatus.FALSE
    assert world.status["observedGeneration"] == 2


@pytest.mark.parametrize("owner", [Owner.STOPPING, Owner.GONE])
@pytest.mark.parametrize("begin", [a_world, an_intent], ids=["new", "with-an-intent"])
@pytest.mark.rule("CAN-2")
def test_no_work_starts_for_a_run_that_ends_or_is_gone(begin, owner):
    """The owner is read uncached before each create; one that stops cancels the child."""
    world = begin(owner=Owner.ACTIVE)
    world.owner = owner
    world.run_pass()
    world.advance(world.limits.request_timeout.total_seconds())
    world.run_pass()
    assert not world.creates
    assert world.status["phase"] == "Cancelled"
    assert world.status["cancel"]["requestedBy"] == ["owner"]


def test_what_is_named_and_missing_blocks_a_child_and_does_not_end_it():
    """Pending and blocked, with the name of what is missing, until it is there."""
    world = a_world(work=MISSING)
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Pending", "ReferenceNotFound")
    assert conditions(world)["Ready"] == ConditionStatus.FALSE
    world.work = a_world().work
    world.run_pass()
    assert world.creates


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        pytest.param(REJECTED, "InvalidSpec", id="rejected"),
        pytest.param(WorkRefused(message="quota"), "StartRefused", id="refused"),
    ],
)
def test_what_cannot_start_fails_at_once(work, reason):
    """A mistake in what is named, or a Job that the API server refuses for good, ends the child."""
    world = a_world(work=work)
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Failed", reason)
    assert not world.creates


@pytest.mark.parametrize("work", [MISSING, REJECTED], ids=["missing", "rejected"])
def test_an_intent_whose_tool_went_wrong_waits_says_why_and_looks_again(work):
    """A create may be in flight, so the child does not end; it is requeued soon."""
    world = an_intent()
    world.work = work
    plan = world.run_pass()
    assert world.status["phase"] == "Pending"
    assert world.status["message"] == work.message
    assert plan.look_again_at == at(10)
    world.work = a_world().work
    world.run_pass()
    assert sum(world.creates.values()) == 1
    assert world.status["reason"] == "Starting"


def test_a_refused_create_ends_the_child_that_has_an_intent():
    """The API server's refusal is an answer."""
    world = an_intent()
    world.work = WorkRefused(message="quota")
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Failed", "StartRefused")


@pytest.mark.rule("DAG-10")
def test_time_can_run_out_before_anything_starts():
    """The limit counts from creation, waiting included; nothing is created after it."""
    world = a_world(timeout=timedelta(seconds=30), suspend=True)
    plan = world.run_pass()
    assert plan.look_again_at == at(30)
    world.advance(30)
    world.child = replace(world.child, suspend=False)
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Failed", "StepTimedOut")
    assert not world.creates
    assert "startedAt" not in world.status


@pytest.mark.parametrize("requester", list(Requester))
@pytest.mark.rule("CAN-2", "CAN-8", "GC-9")
def test_what_never_started_is_cancelled_at_once(requester):
    """No Job was ever asked for: the end needs no waiting."""
    world = a_world(requested_by=frozenset({requester}))
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Cancelled", "Cancelled")
    assert conditions(world)["Cancelled"] == ConditionStatus.TRUE


@pytest.mark.rule("CAN-9")
def test_a_disabled_cancel_is_ignored_and_reported():
    """CancelIgnored, CancelDisabled; the work starts. Switched on again, the request is acted on."""
    world = a_world(requested_by=frozenset({Requester.CANCEL}))
    world.limits = replace(world.limits, cancel_enabled=False)
    world.run_pass()
    assert world.creates
    assert conditions(world)["CancelIgnored"] == ConditionStatus.TRUE
    world.limits = replace(world.limits, cancel_enabled=True)
    world.run_pass()
    assert world.status["phase"] == "Cancelling"
    assert conditions(world)["CancelIgnored"] == ConditionStatus.FALSE


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("started", [True, False])
def test_a_second_pod_is_ended_and_the_first_one_counts(started):
    """Whether the first one runs yet or not."""
    world = running() if started else a_world()
    if not started:
        world.run_pass()
        world.add_pod()
    world.advance(1)
    world.add_pod()
    first, second = world.pods.values()
    _, plan = world.planned()
    assert plan.actions == (EndDuplicate(name=second.name, uid=second.uid),)
    world.run_pass()
    world.start_pod(first.uid)
    world.end_containers(first.uid, 0)
    world.end_containers(second.uid, 1)
    world.run_pass()
    assert world.status["phase"] == "Succeeded"


def test_that_a_job_was_seen_is_recorded_soon_though_nothing_else_happens():
    """One write saved when the pod starts at once; two seconds at most."""
    world = a_world()
    world.run_pass()
    plan = world.run_pass()
    assert "uid" not in world.status["job"]
    assert plan.look_again_at == at(2)
    world.advance(2)
    world.run_pass()
    assert world.status["job"]["uid"] == "job-1"


def waiting_pod(**facts):
    """A child whose pod is there and waits."""
    world = a_world(**facts)
    world.run_pass()
    world.sync_job()
    (uid,) = world.pods
    world.advance(1)
    return world, uid


def waits(world, uid, reason, message=""):
    container = ContainerFacts(name="main", waiting_reason=reason, waiting_message=message)
    world.pods[uid] = replace(world.pods[uid], containers=(container,))
    world.run_pass()


@pytest.mark.rule("AGENT-3")
def test_what_a_pod_waits_for_is_reported_once():
    """E12: reason and message are in the status while it waits; a kubelet's alternating texts cause no write."""
    world, uid = waiting_pod()
    waits(world, uid, "ErrImagePull", "no such image")
    assert (world.status["phase"], world.status["reason"]) == ("Pending", "ImagePullBackOff")
    assert world.status["message"] == "container main: no such image"
    assert conditions(world)["Ready"] == "False"
    recorded = world.status
    for _ in range(20):
        world.advance(15)
        waits(world, uid, "ImagePullBackOff", 'Back-off pulling image "x"')
        world.advance(15)
        waits(world, uid, "ErrImagePull", "no such image")
    assert world.status == recorded
    world.start_pod(uid)
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Running", "Running")


@pytest.mark.rule("AGENT-3")
def test_a_pod_that_no_node_takes_says_so_until_one_does():
    """E12: Unschedulable goes when the pod has a node."""
    world, uid = waiting_pod()
    pod = world.pods[uid]
    world.pods[uid] = replace(pod, unschedulable="0/1 nodes are available")
    world.run_pass()
    assert (world.status["reason"], world.status["message"]) == ("Unschedulable", "0/1 nodes are available")
    world.pods[uid] = pod
    world.run_pass()
    assert world.status["reason"] == "Starting"


@pytest.mark.rule("AGENT-3")
def test_a_job_that_cannot_create_its_pod_says_why():
    """E12: only an event has the cause; it is read when the pod is overdue, and again every 30 s, not in every pass."""
    world = a_world(create_error='Error creating: pods "x-1" is forbidden: serviceaccount "ci" not found')
    world.run_pass()
    world.advance(4)
    assert world.run_pass().look_again_at == at(5)
    assert world.status["reason"] == "Starting"
    world.advance(1)
    assert world.run_pass().look_again_at == at(35)
    assert world.status["reason"] == "FailedCreate"
    expected = 'the Job controller cannot create the pod: the pod is forbidden: serviceaccount "ci" not found'
    assert world.status["message"] == expected
    recorded = world.status
    world.advance(30)
    world.create_error = world.create_error.replace("x-1", "x-2")
    world.run_pass()
    assert world.status == recorded
    world.sync_job()
    world.run_pass()
    assert world.status["reason"] == "Starting"


@pytest.mark.rule("ST-7")
def test_a_pod_that_the_cache_does_not_have_yet_is_waited_for_without_a_hot_loop():
    """The Job says that it has a pod: an event comes, and no pass is due before."""
    world = a_world()
    world.run_pass()
    world.job = replace(world.job, active=1)
    world.advance(10)
    again = world.run_pass().look_again_at
    assert again is None or again > at(10)


@pytest.mark.rule("AGENT-3", "DAG-10")
def test_a_timeout_keeps_what_the_work_waited_for():
    """B8, E12: while it is stopped, and when it has ended."""
    world, uid = waiting_pod(timeout=timedelta(seconds=30))
    waits(world, uid, "CreateContainerConfigError", 'secret "token" not found')
    world.advance(30)
    world.run_pass()
    cause = 'CreateContainerConfigError: container main: secret "token" not found'
    message = f"timed out after 30 s while waiting for: {cause}"
    assert (world.status["reason"], world.status["message"]) == ("Stopping", f"stopping: {message}")
    world.sync_job()
    world.end_pod(uid)
    world.sync_job()
    world.run_pass()
    assert (world.status["phase"], world.status["reason"]) == ("Failed", "StepTimedOut")
    assert world.status["message"] == message


@pytest.mark.rule("DAG-10")
def test_a_timeout_keeps_the_reference_that_was_missing():
    """B8: the message of the timeout says what was waited for."""
    world = a_world(timeout=timedelta(seconds=30), work=MISSING)
    world.run_pass()
    world.advance(30)
    world.run_pass()
    assert world.status["reason"] == "StepTimedOut"
    expected = 'timed out after 30 s while waiting for: ReferenceNotFound: tool "lint" does not exist'
    assert world.status["message"] == expected
