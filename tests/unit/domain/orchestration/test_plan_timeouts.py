"""Time limits of steps and of the run (DAG-10, CAN-6, CAN-7)."""

import pytest

from jangar.api.phases import StepKind
from jangar.domain.cancellation import LeftBehind, Stop
from jangar.domain.orchestration.planning.actions import StopChild
from jangar.domain.orchestration.planning.observation import DefinitionMissing, Limits
from support.builders import a_definition, a_step, at
from support.run_driver import Driver

LIMIT = {"policies": {"timeouts": {"totalSeconds": 100}}}


def a_run_of(**fields):
    run = Driver(a_definition(a_step("a", timeoutSeconds=10, **fields)))
    run.tick()
    return run


@pytest.mark.rule("DAG-10")
def test_a_step_is_stopped_exactly_at_its_limit_counted_from_its_childs_creation():
    """DAG-10: on a timer, waiting included; the stop is announced and then asked for."""
    run = a_run_of()
    assert run.look_again_at == at(10)
    run.now = at(2)
    run.child("a").appears()
    run.tick()
    assert (run.actions, run.look_again_at) == ((), at(12))
    run.tick(9.999)
    assert (run.actions, run.look_again_at) == ((), at(12))
    run.tick(0.001)
    child = run.step("a").child
    assert run.step("a").stop == Stop(
        requested_at=at(12), reason="StepTimedOut", deadline=at(72), message="timed out after 10 s"
    )
    assert run.actions == (StopChild(child=child, reason="StepTimedOut", deadline=at(70)),)
    assert (run.steps["a"], run.look_again_at) == ("Running/Stopping", at(72))
    assert run.phase == "Running/Running"


@pytest.mark.rule("DAG-10")
def test_a_child_that_never_appears_times_out_too():
    """DAG-10: counted from the attempt, so that nothing waits forever."""
    run = a_run_of()
    run.tick(10)
    assert run.steps["a"] == "Running/Stopping"
    run.child("a").is_gone()
    run.tick(59.999)
    assert (run.steps["a"], run.look_again_at) == ("Running/Stopping", at(70)), (
        "its create may be on the wire"
    )
    run.tick(0.001)
    assert (run.steps["a"], run.phase) == ("Failed/StepTimedOut", "Failed/StepFailed")
    assert run.message == "step a failed: StepTimedOut (timed out after 10 s)"
    assert run.record.left_behind == ()


@pytest.mark.rule("DAG-10")
def test_a_stop_is_requested_until_the_child_acknowledges_it():
    """DAG-10, CAN-6: then its end is awaited until the deadline."""
    run = a_run_of()
    run.child("a").runs()
    run.tick(10)
    wanted = run.actions
    run.tick(1)
    assert run.actions == wanted
    run.child("a").hears_stop()
    run.tick(1)
    assert (run.actions, run.look_again_at) == ((), at(70))


@pytest.mark.rule("DAG-10")
def test_a_timed_out_attempt_is_retried_like_any_other_once_it_has_ended():
    """DAG-9, DAG-10: a new attempt only after the work of the previous one is known to have ended."""
    run = a_run_of(retries=1, retryBackoffSeconds=5)
    run.child("a").runs()
    run.tick(10)
    run.child("a").hears_stop()
    run.tick(1)
    assert run.step("a").attempt == 1
    run.child("a").ends_cancelled()
    run.tick(1)
    assert (run.steps["a"], run.step("a").next_retry_at) == ("Retrying/StepTimedOut", at(17))
    assert run.step("a").stop is None
    run.tick(5)
    assert (run.starts, run.look_again_at) == (["a"], at(27))


@pytest.mark.rule("CAN-7")
def test_a_child_that_succeeded_before_it_was_reported_keeps_its_success():
    """CAN-7: truth before order."""
    run = a_run_of()
    run.child("a").runs()
    run.tick(10)
    run.child("a").succeeds()
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Succeeded/Succeeded", "Succeeded/Succeeded")


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("policy", "expected"), [("Fail", "Failed/StepTimedOut"), ("Retry", "Pending/Starting")], ids=str
)
def test_a_timed_out_step_that_does_not_end_is_left_behind_at_the_deadline(policy, expected):
    """CAN-6: not retried over unless onJobMissing says so; it is stopped again until it has ended."""
    run = a_run_of(retries=1, onJobMissing=policy)
    run.child("a").runs()
    run.tick(10)
    child = run.step("a").child
    run.tick(59.999)
    assert run.steps["a"] == "Running/Stopping"
    run.tick(0.001)
    assert run.steps["a"] == expected
    assert run.record.left_behind == (LeftBehind(kind="ToolRun", name=child, uid=f"uid-of-{child}"),)
    assert StopChild(child=child, reason="Cancelled", deadline=at(70)) in run.actions
    assert run.look_again_at == at(80)


@pytest.mark.rule("DAG-10")
def test_a_gate_times_out_too():
    """DAG-10: gates and waits can time out too."""
    gate = {"name": "g", "kind": "ApprovalGate", "policyRef": "p", "timeoutSeconds": 10}
    run = Driver(
        a_definition(gate), limits=Limits(supported_kinds={StepKind.TOOL_RUN, StepKind.APPROVAL_GATE})
    )
    run.tick()
    run.tick(10)
    assert run.steps["g"] == "Running/Stopping"


@pytest.mark.rule("DAG-10")
def test_the_run_is_stopped_exactly_at_its_limit_counted_from_its_creation():
    """DAG-10: what runs is stopped, what waits fails, what has not begun is skipped."""
    run = Driver(
        a_definition(a_step("a"), a_step("b", "a"), a_step("c", retries=1, retryBackoffSeconds=500), **LIMIT)
    )
    run.tick(3)
    assert run.look_again_at == at(100)
    run.child("a").runs()
    run.child("c").fails("NonZeroExit")
    run.tick(96.999)
    assert (run.phase, run.actions, run.look_again_at) == ("Running/Running", (), at(100))
    run.tick(0.001)
    assert run.steps == {
        "a": "Running/Stopping",
        "b": "Skipped/RunTimedOut",
        "c": "Failed/RunTimedOut",
    }
    assert run.step("c").message == "the run timed out while the step was waiting to retry"
    assert run.step("b").message == ""
    assert (run.phase, run.message) == ("Running/Stopping", "the run reached its time limit")
    assert run.record.stop == Stop(requested_at=at(100), reason="RunTimedOut", deadline=at(160))
    assert run.actions == (StopChild(child=run.step("a").child, reason="RunTimedOut", deadline=at(158)),)
    assert run.look_again_at == at(160)
    run.child("a").ends_cancelled()
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Failed/RunTimedOut", "Failed/RunTimedOut")
    assert (run.message, run.look_again_at) == ("the run reached its time limit", None)
    assert run.record.lifecycle.finished_at == at(101)


@pytest.mark.rule("DAG-10")
def test_a_step_that_fails_while_the_run_is_stopped_is_not_retried():
    """DAG-10: nothing starts again."""
    run = Driver(a_definition(a_step("a", retries=5), **LIMIT))
    run.tick()
    run.child("a").runs()
    run.tick(100)
    run.child("a").fails("OOMKilled")
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Failed/OOMKilled", "Failed/RunTimedOut")


@pytest.mark.rule("DAG-7")
def test_a_run_that_ends_at_its_limit_is_not_late():
    """DAG-7: truth first; every step had ended."""
    run = Driver(a_definition(a_step("a"), **LIMIT))
    run.tick()
    run.child("a").succeeds()
    run.tick(100)
    assert run.phase == "Succeeded/Succeeded"


@pytest.mark.rule("DAG-7")
def test_a_success_after_the_limit_does_not_save_the_run():
    """DAG-7: run timeout fired -> Failed/RunTimedOut, though the step keeps its result."""
    run = Driver(a_definition(a_step("a"), **LIMIT))
    run.tick()
    run.child("a").runs()
    run.tick(100)
    run.child("a").succeeds()
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Succeeded/Succeeded", "Failed/RunTimedOut")


@pytest.mark.rule("CAN-6")
def test_a_step_that_outlives_the_runs_limit_is_left_behind():
    """CAN-6: the stop of a run that timed out is bounded too."""
    run = Driver(a_definition(a_step("a"), **LIMIT))
    run.tick()
    run.child("a").runs()
    run.tick(100)
    run.child("a").hears_stop()
    run.tick(60)
    assert (run.steps["a"], run.phase) == ("Failed/RunTimedOut", "Failed/RunTimedOut")
    assert [item.name for item in run.record.left_behind] == [run.step("a").child]


@pytest.mark.rule("DAG-10")
def test_a_step_stopped_for_its_own_limit_keeps_that_reason_when_the_runs_limit_comes():
    """DAG-10: the first stop stays in force."""
    run = Driver(a_definition(a_step("a", timeoutSeconds=99), **LIMIT))
    run.tick()
    run.child("a").runs()
    run.tick(99)
    run.tick(1)
    assert run.step("a").stop.reason == "StepTimedOut"
    run.child("a").ends_cancelled()
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Failed/StepTimedOut", "Failed/RunTimedOut")


@pytest.mark.rule("DAG-7", "CAN-7")
def test_a_cancel_after_the_limit_came_too_late():
    """DAG-7: the time limit wins; the cancel says that it was ignored."""
    run = Driver(a_definition(a_step("a"), **LIMIT))
    run.tick()
    run.child("a").runs()
    run.tick(100)
    run.cancel()
    run.tick(1)
    assert run.phase == "Cancelling/Cancelling"
    assert run.step("a").stop.reason == "RunTimedOut"
    run.child("a").ends_cancelled()
    run.children_read = run.children_read.AFTER_CANCEL
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Failed/RunTimedOut", "Failed/RunTimedOut")
    assert run.condition("CancelIgnored") == "True/AlreadyFailed"


@pytest.mark.rule("DAG-10")
def test_a_cancelled_run_does_not_time_out():
    """DAG-7: the cancel was first, and has its own bound."""
    run = Driver(a_definition(a_step("a"), **LIMIT))
    run.tick()
    run.child("a").runs()
    run.tick(90)
    run.cancel()
    run.tick()
    assert run.look_again_at == at(150)
    run.tick(10)
    assert (run.phase, run.record.stop) == ("Cancelling/Cancelling", None)


@pytest.mark.rule("DAG-10")
@pytest.mark.parametrize("suspend", [True, False], ids=["suspended", "not-suspended"])
def test_a_run_whose_limit_came_before_it_began_starts_nothing(suspend):
    """DAG-10: counted from its creation, however long it waited."""
    run = Driver(a_definition(a_step("a"), **LIMIT), suspend=suspend)
    run.tick(100)
    assert (run.steps, run.actions) == ({"a": "Skipped/RunTimedOut"}, ())
    assert (run.phase, run.record.lifecycle.started_at) == ("Failed/RunTimedOut", None)


@pytest.mark.rule("DAG-2", "DAG-10")
def test_waiting_for_a_definition_is_bounded_by_the_runs_own_limit():
    """DAG-2: timeouts count while a named object does not exist."""
    policies = a_definition(a_step("a"), **LIMIT).policies
    run = Driver(DefinitionMissing(message="none"), policies=policies)
    run.tick()
    assert (run.phase, run.look_again_at) == ("Pending/ReferenceNotFound", at(100))
    run.tick(99.999)
    assert run.phase == "Pending/ReferenceNotFound"
    run.tick(0.001)
    assert (run.phase, run.message) == (
        "Failed/RunTimedOut",
        "the run reached its time limit while waiting for: ReferenceNotFound: none",
    )
    assert run.look_again_at is None


@pytest.mark.rule("DAG-10")
def test_waiting_for_the_snapshot_is_bounded_too():
    """DAG-3, DAG-10: a definition that cannot be stored does not keep its run forever."""
    run = Driver(a_definition(a_step("a"), **LIMIT))
    run.pinned = False
    run.tick(99.999)
    assert (run.phase, run.look_again_at) == ("Pending/Pending", at(100))
    run.tick(0.001)
    assert (run.phase, run.actions, run.look_again_at) == ("Failed/RunTimedOut", (), None)


@pytest.mark.rule("DAG-10")
def test_the_earliest_of_all_timers_is_looked_at_first():
    """DAG-10: steps' limits, retries and the run's limit."""
    run = Driver(
        a_definition(a_step("a", timeoutSeconds=30), a_step("b", timeoutSeconds=20), a_step("c"), **LIMIT),
        created_at=at(-75),
    )
    run.tick()
    assert run.look_again_at == at(20)
    run.child("b").succeeds()
    run.tick(1)
    assert run.look_again_at == at(25)
