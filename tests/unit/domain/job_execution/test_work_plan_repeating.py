"""Attempts that are repeated, and children that are held back, as the definition or admission says."""

from collections import Counter
from dataclasses import replace

import pytest

from jangar.domain.cancellation import Requester
from jangar.domain.job_execution.observation import WorkDefined, WorkHeld, WorkRejected
from support.work_world import a_world


def fails(world, code=3):
    """The attempt under way starts and fails."""
    world.run_pass()
    world.sync_job()
    world.advance(10)
    (uid,) = [pod.uid for pod in world.pods.values() if pod.name.startswith(world.status["job"]["name"])]
    world.start_pod(uid)
    world.run_pass()
    world.end_containers(uid, code)
    world.end_pod(uid)
    world.run_pass()


def verdict(world):
    return world.status["phase"], world.status["reason"]


@pytest.mark.rule("DAG-9")
def test_a_failed_attempt_is_repeated_as_often_as_its_terms_say():
    """Its end is recorded, its Job is released, and only then the next one is created."""
    world = a_world(retries=1)
    fails(world)
    for _ in range(4):
        world.run_pass()
    assert [attempt["attempt"] for attempt in world.status["attempts"]] == [1]
    assert world.status["job"]["attempt"] == 2
    assert "WorkflowJobMissing" not in {condition["type"] for condition in world.status["conditions"]}
    world.pods.clear()
    fails(world)
    assert verdict(world) == ("Failed", "NonZeroExit")
    assert set(world.creates.values()) == {1}
    assert len(world.creates) == 2


def test_a_success_is_not_repeated():
    """Nor is anything without retries."""
    world = a_world(retries=3)
    fails(world, code=0)
    assert verdict(world) == ("Succeeded", "Succeeded")
    once = a_world()
    fails(once)
    assert verdict(once) == ("Failed", "NonZeroExit")


@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_child_that_is_cancelled_between_attempts_starts_none():
    """It is Cancelled, not Failed: the next attempt was what it waited for."""
    world = a_world(retries=1)
    fails(world)
    world.child = replace(world.child, requested_by=frozenset({Requester.CANCEL}))
    world.run_pass()
    assert verdict(world) == ("Cancelled", "Cancelled")
    assert sum(world.creates.values()) == 1


def test_a_held_child_waits_with_admissions_own_words():
    """Condition Blocked holds while it waits, and no longer once it is admitted."""
    world = a_world()
    world.work = WorkHeld(reason="ConcurrencyLimit", message="2 of 2 run")
    world.run_pass()
    assert verdict(world) == ("Pending", "ConcurrencyLimit")
    blocked = {condition["type"]: condition for condition in world.status["conditions"]}["Blocked"]
    assert (blocked["status"], blocked["reason"]) == ("True", "ConcurrencyLimit")
    assert world.creates == Counter()
    world.work = WorkDefined()
    world.run_pass()
    assert {condition["type"]: condition["status"] for condition in world.status["conditions"]}[
        "Blocked"
    ] == "False"
    assert sum(world.creates.values()) == 1


def test_a_denied_child_fails_with_the_reason_of_the_denial():
    """And starts nothing."""
    world = a_world()
    world.work = WorkRejected(reason="ImageBlocked", message="no such image here")
    world.run_pass()
    assert verdict(world) == ("Failed", "ImageBlocked")
    assert world.creates == Counter()


@pytest.mark.rule("GC-6")
def test_the_logs_of_attempts_are_kept_one_by_one():
    """That of a child whose first attempt is the last has no title: it is the only one."""
    world = a_world(retries=1, logs=[])
    fails(world)
    for _ in range(4):
        world.run_pass()
    world.pods.clear()
    fails(world)
    world.run_pass()
    assert [title for _, title in world.logs] == ["attempt 1", "attempt 2"]
    once = a_world(retries=1, logs=[])
    fails(once, code=0)
    once.run_pass()
    assert [title for _, title in once.logs] == [""]
