"""What becomes of a child that has ended: its Job, its pods, its logs and itself."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jangar.domain.cancellation import Requester
from jangar.domain.job_execution.actions import (
    DeleteChild,
    ReadWork,
    ReleaseJob,
    ReleasePod,
    RemoveChildFinalizer,
    SetTtl,
    StoreLogs,
)
from jangar.domain.job_execution.observation import Owner
from jangar.domain.job_execution.plan import plan_work
from jangar.domain.job_execution.status_document import work_record
from jangar.domain.retention import NEVER, Keep
from support.builders import at
from support.work_world import a_world

AT_ONCE = Keep(duration=timedelta(0))


def succeeded(**facts):
    """A child that has just ended, one second after noon; its pod and Job still have their finalizers."""
    world = a_world(**facts)
    world.run_pass()
    world.add_pod()
    (uid,) = world.pods
    world.start_pod(uid)
    world.advance(1)
    world.end_containers(uid, 0)
    world.run_pass()
    assert world.status["phase"] == "Succeeded"
    return world


def settled(**facts):
    """The same with all finalizers removed."""
    world = succeeded(**facts)
    world.run_pass()
    for uid in list(world.pods):
        world.end_pod(uid)
    world.sync_job()
    world.run_pass()
    return world


def deleted(world, *, after=0.0):
    world.advance(after)
    requested = world.child.requested_by | {Requester.DELETION}
    world.child = replace(world.child, requested_by=requested, deleted_at=world.now)


@pytest.mark.rule("GC-1")
def test_the_ttl_is_set_and_the_finalizers_go_after_the_record():
    """TTL and Job's finalizer, and the pod's."""
    world = succeeded()
    _, plan = world.planned()
    assert [type(action) for action in plan.actions] == [ReleasePod, SetTtl, ReleaseJob]
    world.run_pass()
    assert world.job.ttl_seconds == 600
    assert not world.job.finalizers


@pytest.mark.rule("GC-6")
def test_logs_are_kept_before_the_pod_goes():
    """First of all, and of the pod that counts."""
    world = succeeded()
    (pod,) = world.pods.values()
    plan = plan_work(replace(world.observation(), logs_kept=False), world.now)
    assert plan.actions[0] == StoreLogs(pod=pod.name, pod_uid=pod.uid, job=world.status["job"]["name"])
    assert ReleasePod in {type(action) for action in plan.actions[1:]}


@pytest.mark.rule("ST-3", "ST-7")
def test_a_child_that_no_one_touches_costs_nothing():
    """No write, no action and no look before its time is over."""
    world = settled()
    seen, plan = world.planned()
    assert plan.status is seen.recorded
    assert not plan.actions
    assert plan.look_again_at == at(1) + timedelta(seconds=2592000)


@pytest.mark.rule("GC-4", "GC-5")
@pytest.mark.parametrize(
    ("keep", "looks", "shown"),
    [
        pytest.param(AT_ONCE, at(25), 0, id="zero-as-soon-as-its-name-may-be-free"),
        pytest.param(Keep(duration=timedelta(minutes=5)), at(301), 300, id="later"),
        pytest.param(NEVER, None, None, id="never"),
    ],
)
def test_a_child_of_no_one_goes_when_its_time_is_over(keep, looks, shown):
    """Its Job's name stays reserved for as long as a late create could arrive."""
    world = settled(limits=replace(a_world().limits, retention=keep))
    assert world.status["retention"].get("runRetentionSeconds") == shown
    _, plan = world.planned()
    assert (plan.actions, plan.look_again_at) == ((), looks)
    if looks is None:
        return
    world.now = looks
    _, plan = world.planned()
    assert plan.actions == (DeleteChild(),)


@pytest.mark.rule("GC-5")
def test_its_own_ttl_comes_first_and_a_child_of_a_run_goes_with_the_run():
    """The object's value, and none for a child that belongs to a run."""
    own = settled(ttl=60)
    assert own.status["retention"]["runSource"] == "spec.ttlSecondsAfterFinished"
    owned = settled(ttl=0, owner=Owner.ACTIVE)
    assert owned.status["retention"]["runSource"] == "rootRun"
    owned.advance(10_000)
    _, plan = owned.planned()
    assert (plan.actions, plan.look_again_at) == ((), None)


@pytest.mark.rule("GC-9")
def test_a_deleted_child_goes_after_a_live_look_when_nothing_is_held():
    """Finalizers are removed first, and the caches are not trusted."""
    world = succeeded()
    deleted(world)
    assert plan_work(world.observation(), world.now).reads == (ReadWork(job=world.job.name),)
    plan = world.run_pass()
    assert RemoveChildFinalizer not in {type(action) for action in plan.actions}
    assert plan.look_again_at == at(61)
    world.run_pass()
    assert world.gone


@pytest.mark.rule("GC-9")
def test_a_deleted_child_that_never_started_goes_at_once():
    """There is nothing to look for."""
    world = a_world()
    deleted(world)
    world.run_pass()
    assert world.status["phase"] == "Cancelled"
    assert world.planned()[1].actions == (RemoveChildFinalizer(),)


@pytest.mark.rule("GC-9", "CAN-6")
def test_a_child_deleted_while_it_runs_is_stopped_and_held_no_longer_than_the_bound():
    """Then the finalizers are removed, what may still run is named, and nothing of ours holds it forever."""
    world = a_world()
    world.run_pass()
    world.add_pod()
    (pod,) = world.pods.values()
    world.start_pod(pod.uid)
    world.run_pass()
    deleted(world)
    world.run_pass()
    assert world.job.suspended
    world.advance(60)
    world.run_pass()
    assert world.status["reason"] == "CancelTimedOut"
    assert not world.gone
    plan = world.run_pass()
    assert plan.actions[-1] == RemoveChildFinalizer(left=(world.status["job"]["name"], pod.name))
    assert world.gone
    assert world.pods[pod.uid].deleting


def test_one_that_others_hold_is_left_to_them():
    """Without our finalizer there is nothing to take away."""
    world = settled()
    world.child = replace(world.child, has_finalizer=False, deleted_at=world.now)
    assert world.planned()[1].actions == ()


@pytest.mark.rule("CAN-6")
def test_a_job_left_behind_and_gone_since_is_seen_to_have_ended_by_a_live_look():
    """The caches show neither Job nor pods, which proves nothing; the API server says so."""
    world = settled()
    world.status["cancel"] = {"leftBehind": [{"kind": "Job", "name": world.job.name, "uid": world.job.uid}]}
    world.job = None
    world.pods.clear()
    assert plan_work(world.observation(), world.now).reads == (ReadWork(job=world.status["job"]["name"]),)
    world.run_pass()
    assert world.status["cancel"]["leftBehind"][0]["endedAt"]


@pytest.mark.rule("ST-5")
def test_an_end_that_an_older_writer_recorded_gets_conditions_with_a_reason():
    """A status with a phase alone is completed and otherwise left as it is."""
    world = a_world(status={"phase": "Failed"})
    world.run_pass()
    assert world.status["phase"] == "Failed"
    assert world.status["finishedAt"]
    assert all(condition["reason"] for condition in world.status["conditions"])
    assert not world.creates


def test_an_older_writers_word_for_nothing_has_happened_is_understood():
    """The legacy controllers set Ready on ToolRuns."""
    assert work_record({"phase": "Ready"}).lifecycle.phase is None
    world = a_world(status={"phase": "Ready"})
    world.run_pass()
    assert world.status["phase"] == "Pending"
    assert world.creates


@pytest.mark.rule("CAN-7")
def test_a_cancel_after_the_end_changes_nothing_but_the_condition():
    """CancelIgnored, AlreadySucceeded; observedGeneration advances."""
    world = settled()
    before = world.status
    world.advance(5)
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}), generation=2)
    world.run_pass()
    changed = {name for name in world.status if world.status[name] != before.get(name)}
    assert changed == {"conditions", "observedGeneration", "updatedAt"}
    ignored = next(
        condition for condition in world.status["conditions"] if condition["type"] == "CancelIgnored"
    )
    assert (ignored["status"], ignored["reason"]) == ("True", "AlreadySucceeded")


@pytest.mark.rule("GC-4", "GC-5")
def test_what_the_work_asks_for_comes_before_the_operators_job_ttl():
    """A Tool may say how long its Jobs are kept; a late create still finds the name taken."""
    child = settled(job_ttl=3600)
    assert child.status["retention"]["jobTtlSeconds"] == 3600
    assert settled().status["retention"]["jobTtlSeconds"] == 600
    assert settled(job_ttl=1).status["retention"]["jobTtlSeconds"] > 1


@pytest.mark.rule("GC-6")
def test_a_child_of_its_own_goes_after_its_history():
    """Its time is over, and its row is waited for without a bound."""
    world = settled(ttl=0)
    world.limits = replace(world.limits, history_enabled=True)
    world.advance(3600)
    observation = world.observation()
    waiting = plan_work(replace(observation, history_pending=True), world.now)
    assert (waiting.actions, waiting.look_again_at) == ((), None)
    assert plan_work(observation, world.now).actions == (DeleteChild(),)


@pytest.mark.rule("GC-6", "GC-9")
def test_a_deletion_waits_for_the_history_within_its_bound():
    """After the bound the finalizer is removed anyway."""
    world = settled()
    deleted(world)
    observation = replace(world.observation(), live=True, history_pending=True)
    bound = world.now + observation.limits.cancel_timeout
    waiting = plan_work(observation, world.now)
    assert (waiting.actions, waiting.look_again_at) == ((), bound)
    assert RemoveChildFinalizer(left=()) in plan_work(observation, bound).actions
    assert (
        RemoveChildFinalizer(left=())
        in plan_work(replace(observation, history_pending=False), world.now).actions
    )
