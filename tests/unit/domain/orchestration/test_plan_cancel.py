"""Cancel, from the request to the end (CAN-1 to CAN-9)."""

import pytest

from jangar.api.phases import Phase
from jangar.domain.cancellation import Cancel, Requester
from jangar.domain.orchestration.planning.actions import ReadChildren, StopChild
from jangar.domain.orchestration.planning.observation import ChildrenRead, Limits
from jangar.domain.orchestration.planning.plan import plan
from jangar.domain.orchestration.state import Stop
from support.builders import a_definition, a_step, at
from support.run_driver import Driver


def a_running_run(*more, **facts):
    run = Driver(a_definition(a_step("a"), *more), **facts)
    run.tick()
    run.child("a").runs()
    run.tick(1)
    return run


def looked_for(run):
    run.children_read = ChildrenRead.AFTER_CANCEL
    return run


@pytest.mark.rule("CAN-1", "CAN-2", "CAN-3")
@pytest.mark.parametrize("by", list(Requester), ids=str)
def test_a_cancel_takes_hold_at_once(by):
    """CAN-2: Cancelling, requestedAt, a stop for what runs; what has not begun is skipped; nothing starts."""
    run = a_running_run(a_step("b", "a"), a_step("c", "b"))
    run.cancel(by)
    run.tick(1)
    assert (run.phase, run.message) == ("Cancelling/Cancelling", "waiting for running work to stop")
    assert run.condition("Cancelled") == "False/Cancelling"
    assert run.record.cancel == Cancel(requested_at=at(2), deadline=at(62), requested_by=(by.value,))
    assert run.steps == {"a": "Running/Stopping", "b": "Skipped/RunCancelled", "c": "Skipped/RunCancelled"}
    assert run.step("a").stop == Stop(requested_at=at(2), reason="Cancelled", deadline=at(62))
    assert run.actions == (
        StopChild(child=run.step("a").child, reason="Cancelled", deadline=at(60)),
        ReadChildren(),
    )
    assert run.look_again_at == at(62)
    assert (run.step("b").causes, run.step("b").message) == ((), "")


@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_step_waiting_to_retry_becomes_cancelled():
    """CAN-2: it had begun, so it is not skipped."""
    run = Driver(a_definition(a_step("a", retries=1, retryBackoffSeconds=60)))
    run.tick()
    run.child("a").fails("NonZeroExit")
    run.tick(1)
    run.cancel()
    run.tick(1)
    assert (run.steps["a"], run.step("a").message) == (
        "Cancelled/RunCancelled",
        "cancelled while waiting to retry",
    )
    assert run.phase == "Cancelling/Cancelling", "its children were not looked for yet"
    assert (run.actions, run.look_again_at) == ((ReadChildren(),), None)
    looked_for(run).tick(1)
    assert (run.phase, run.actions) == ("Cancelled/Cancelled", ())


@pytest.mark.rule("CAN-2", "CAN-8")
def test_a_child_whose_create_is_on_the_wire_is_looked_for_and_reported_to_stop():
    """CAN-2: no create is sent any more; an uncached read is made, and repeated after the request timeout."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.cancel()
    run.tick(1)
    stop = StopChild(child=run.step("a").child, reason="Cancelled", deadline=at(59))
    assert run.actions == (stop, ReadChildren())
    looked_for(run).child("a").is_gone()
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Cancelled/RunCancelled", "Cancelled/Cancelled")
    assert (run.actions, run.look_again_at) == ((), at(11))
    run.tick(8.999)
    assert run.look_again_at == at(11)
    run.tick(0.001)
    assert (run.actions, run.look_again_at) == ((ReadChildren(),), None)
    run.child("a").runs()
    run.children_read = ChildrenRead.AFTER_REQUEST_TIMEOUT
    run.tick(1)
    assert run.actions == (StopChild(child=run.step("a").child, reason="Cancelled", deadline=at(61)),)
    assert run.phase == "Cancelled/Cancelled"


@pytest.mark.rule("CAN-2")
def test_reads_made_before_the_cancel_was_recorded_do_not_count():
    """CAN-2: a create may have been sent in between."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.child("a").succeeds()
    run.cancel()
    observation = looked_for(run).observation()
    made = plan(observation, at(1))
    assert (made.status.lifecycle.phase, made.actions) == ("Cancelling", (ReadChildren(),))


@pytest.mark.rule("CAN-5")
def test_a_run_is_cancelled_when_each_active_step_was_seen_to_end():
    """CAN-5: each, and not before its children."""
    run = a_running_run(a_step("b"))
    run.child("b").runs()
    run.cancel()
    run.tick(1)
    looked_for(run)
    run.child("a").ends_cancelled()
    run.tick(1)
    assert (run.phase, run.steps["a"]) == ("Cancelling/Cancelling", "Cancelled/RunCancelled")
    run.child("b").becomes(Phase.CANCELLED, finished_at=at(9))
    run.tick(1)
    assert (run.phase, run.message) == (
        "Cancelled/Cancelled",
        "cancelled; 2 of 2 steps were interrupted or never started",
    )
    assert run.condition("Cancelled") == "True/Cancelled"
    assert run.record.lifecycle.finished_at == at(9)
    assert run.look_again_at is None


@pytest.mark.rule("CAN-5", "CAN-7")
@pytest.mark.parametrize(
    ("end", "step", "phase"),
    [
        pytest.param("succeeds", "Succeeded/Succeeded", "Succeeded/Succeeded", id="succeeded"),
        pytest.param("fails", "Failed/ChildFailed", "Failed/StepFailed", id="failed"),
    ],
)
def test_a_child_that_ended_before_the_stop_keeps_its_result(end, step, phase):
    """CAN-7, DAG-7: and a cancel that cut nothing says that it was ignored."""
    run = a_running_run()
    run.cancel()
    run.tick(1)
    looked_for(run)
    getattr(run.child("a"), end)()
    run.tick(1)
    assert (run.steps["a"], run.phase) == (step, phase)
    assert run.condition("CancelIgnored") == f"True/Already{phase.partition('/')[0]}"


@pytest.mark.rule("CAN-2", "DAG-9")
@pytest.mark.parametrize("together", [True, False], ids=["seen-with-the-cancel", "seen-later"])
def test_an_attempt_that_only_the_cancel_keeps_from_being_repeated_was_cut(together):
    """CAN-2, DAG-9: it goes the way of a step that waits to retry; its own failure stays in the history."""
    run = Driver(a_definition(a_step("a", retries=5), a_step("b", "a"), a_step("c")))
    run.tick()
    run.child("c").runs()
    if together:
        run.child("a").fails("NonZeroExit")
    run.cancel()
    run.tick(1)
    run.child("a").fails("NonZeroExit")
    run.tick(1)
    assert run.steps == {
        "a": "Cancelled/RunCancelled",
        "b": "Skipped/RunCancelled",
        "c": "Running/Stopping",
    }
    assert run.step("a").message == "cancelled while waiting to retry"
    assert [attempt.reason for attempt in run.step("a").attempts] == ["NonZeroExit"]
    assert run.starts == []


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize("together", [True, False], ids=["seen-with-the-cancel", "seen-later"])
def test_a_last_attempt_that_failed_by_itself_has_failed(together):
    """CAN-7: truth first, then what was asked."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a"), a_step("c")))
    run.tick()
    run.child("c").runs()
    if together:
        run.child("a").fails("NonZeroExit")
    run.cancel()
    run.tick(1)
    run.child("a").fails("NonZeroExit")
    run.tick(1)
    assert run.steps == {
        "a": "Failed/NonZeroExit",
        "b": "Skipped/DependencyFailed" if together else "Skipped/RunCancelled",
        "c": "Running/Stopping",
    }


@pytest.mark.rule("DAG-7")
def test_a_cancel_that_cut_one_step_makes_the_run_cancelled_though_another_failed():
    """DAG-7: a cancel was accepted and cut at least one step."""
    run = a_running_run(a_step("b"))
    run.child("b").fails()
    run.tick()
    run.cancel()
    run.tick(1)
    looked_for(run).child("a").ends_cancelled()
    run.tick(1)
    assert (run.phase, run.condition("CancelIgnored")) == ("Cancelled/Cancelled", None)
    assert run.counts == {"total": 2, "failed": 1, "cancelled": 1}


@pytest.mark.rule("CAN-7", "ST-2")
@pytest.mark.parametrize(
    ("end", "reason"),
    [
        pytest.param("succeeds", "AlreadySucceeded", id="succeeded"),
        pytest.param("fails", "AlreadyFailed", id="failed"),
    ],
)
def test_a_finished_run_is_left_alone(end, reason):
    """CAN-7: phase and times unchanged, CancelIgnored=True, observedGeneration advances; then silence."""
    run = a_running_run()
    getattr(run.child("a"), end)()
    run.tick(1)
    before = run.record.lifecycle
    run.cancel()
    run.change(generation=2)
    run.tick(10)
    after = run.record.lifecycle
    assert run.condition("CancelIgnored") == f"True/{reason}"
    assert (after.phase, after.reason, after.message) == (before.phase, before.reason, before.message)
    assert (after.started_at, after.finished_at) == (before.started_at, before.finished_at)
    assert (after.observed_generation, after.updated_at) == (2, at(12))
    assert (run.record.cancel, run.actions) == (None, ())
    quiet = run.record
    run.tick(10)
    assert run.record is quiet


@pytest.mark.rule("CAN-7")
def test_asking_once_more_after_a_cancelled_end_is_ignored():
    """CAN-7: AlreadyCancelled, for a request that is new."""
    run = Driver(a_definition(a_step("a")))
    run.cancel()
    run.tick()
    assert (run.phase, run.condition("CancelIgnored")) == ("Cancelled/Cancelled", None)
    run.tick(1)
    assert run.condition("CancelIgnored") is None
    run.cancel(Requester.DESIRED_STATE)
    run.tick(1)
    assert run.condition("CancelIgnored") == "True/AlreadyCancelled"


@pytest.mark.rule("CAN-8")
@pytest.mark.parametrize("suspend", [True, False], ids=["suspended", "not-suspended"])
def test_a_run_that_has_not_started_is_cancelled_without_waiting(suspend):
    """CAN-8: while the run is Pending or Suspended nothing has to be looked for."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")), suspend=suspend)
    run.cancel()
    run.tick()
    assert (run.phase, run.actions, run.look_again_at) == ("Cancelled/Cancelled", (), None)
    assert run.steps == {"a": "Skipped/RunCancelled", "b": "Skipped/RunCancelled"}
    assert run.message == "cancelled; 2 of 2 steps were interrupted or never started"
    assert run.record.lifecycle.started_at is None


@pytest.mark.rule("CAN-8")
def test_a_step_waiting_for_a_place_is_skipped():
    """CAN-8: while a step waits for a queue place."""
    run = Driver(a_definition(a_step("a"), a_step("b"), policies={"maxParallel": 1}))
    run.tick()
    run.child("a").runs()
    run.cancel()
    run.tick(1)
    looked_for(run).child("a").ends_cancelled()
    run.tick(1)
    assert run.steps == {"a": "Cancelled/RunCancelled", "b": "Skipped/RunCancelled"}


@pytest.mark.rule("CAN-8")
def test_a_cancel_survives_a_restart_of_the_controller():
    """CAN-8: everything follows from what is recorded; no basis, no cache, the same stop and deadline."""
    run = a_running_run()
    run.cancel()
    run.tick(1)
    announced = run.step("a").stop
    run.plan = None
    run.child("a").is_not_in_the_cache()
    run.change(requested_by=frozenset())
    run.tick(30)
    assert (run.phase, run.step("a").stop) == ("Cancelling/Cancelling", announced)
    assert run.actions == (
        StopChild(child=run.step("a").child, reason="Cancelled", deadline=at(60)),
        ReadChildren(),
    )
    assert run.look_again_at == at(62)


@pytest.mark.rule("CAN-1")
def test_a_request_cannot_be_withdrawn():
    """CAN-1: once recorded it is in force."""
    run = a_running_run()
    run.cancel()
    run.tick(1)
    run.change(requested_by=frozenset())
    looked_for(run).child("a").ends_cancelled()
    run.tick(1)
    assert run.phase == "Cancelled/Cancelled"


@pytest.mark.rule("CAN-1")
def test_a_second_requester_is_recorded_and_moves_no_time():
    """CAN-1: asking twice is asking once."""
    run = a_running_run()
    run.cancel()
    run.tick(1)
    run.cancel(Requester.DESIRED_STATE)
    run.tick(10)
    assert run.record.cancel == Cancel(
        requested_at=at(2), deadline=at(62), requested_by=("cancel", "desiredState")
    )
    assert run.step("a").stop.deadline == at(62)


@pytest.mark.rule("CAN-9")
def test_switched_off_a_request_is_ignored_and_switched_on_again_it_is_acted_on():
    """CAN-9: CancelIgnored=True/CancelDisabled, then Cancelling."""
    run = a_running_run(limits=Limits(cancel_enabled=False))
    run.cancel()
    run.tick(1)
    assert (run.phase, run.record.cancel) == ("Running/Running", None)
    assert run.condition("CancelIgnored") == "True/CancelDisabled"
    run.limits = Limits()
    run.tick(10)
    assert (run.phase, run.record.cancel.requested_at) == ("Cancelling/Cancelling", at(12))
    assert run.condition("CancelIgnored") == "False/Cancelling"


@pytest.mark.rule("CAN-9", "ST-3")
@pytest.mark.parametrize("enabled", [True, False], ids=["switched-on-later", "left-off"])
def test_a_run_that_ends_while_cancel_is_switched_off_keeps_saying_so(enabled):
    """CAN-9, ST-3: after its end nothing is written, whatever the switch does."""
    run = a_running_run(limits=Limits(cancel_enabled=False))
    run.cancel()
    run.child("a").succeeds()
    run.tick(1)
    assert (run.phase, run.condition("CancelIgnored")) == ("Succeeded/Succeeded", "True/CancelDisabled")
    before = run.record
    run.limits = Limits(cancel_enabled=enabled)
    run.tick(1)
    assert run.record is before


@pytest.mark.rule("CAN-9", "GC-9")
def test_switched_off_deleting_still_stops_the_work():
    """CAN-9, GC-9: the switch is for requests of users."""
    run = a_running_run(limits=Limits(cancel_enabled=False))
    run.delete()
    run.tick(1)
    assert (run.phase, run.steps["a"]) == ("Cancelling/Cancelling", "Running/Stopping")


@pytest.mark.rule("CAN-2")
def test_a_run_that_is_cancelled_before_it_began_shows_its_steps_as_skipped():
    """Nothing is pinned for it and nothing was started; what it would have done is said."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.pinned = False
    run.cancel(Requester.CANCEL)
    run.tick()
    assert run.phase == "Cancelled/Cancelled"
    assert run.steps == {"a": "Skipped/RunCancelled", "b": "Skipped/RunCancelled"}
