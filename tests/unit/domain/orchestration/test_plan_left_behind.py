"""What outlives a stop, and runs that are deleted (CAN-6, GC-9)."""

from datetime import timedelta

import pytest

from jangar.api.phases import StepKind
from jangar.domain.cancellation import LeftBehind
from jangar.domain.orchestration.planning.actions import ReadChildren, RemoveRunFinalizer, StopChild
from jangar.domain.orchestration.planning.observation import ChildrenRead, Limits
from support.builders import a_definition, a_step, at
from support.run_driver import Driver


def a_cancelled_run(**facts):
    """Step `a` runs and has a stop request, at noon."""
    run = Driver(a_definition(a_step("a")), **facts)
    run.tick()
    run.child("a").runs()
    run.tick()
    run.cancel()
    run.tick()
    run.children_read = ChildrenRead.AFTER_CANCEL
    run.child("a").hears_stop()
    run.tick()
    return run


@pytest.mark.rule("CAN-6")
def test_past_its_bound_a_cancel_ends_and_lists_what_may_still_run():
    """CAN-6: exactly at the deadline; Cancelled=True/CancelTimedOut."""
    run = a_cancelled_run()
    child = run.step("a").child
    run.tick(59.999)
    assert (run.phase, run.actions, run.look_again_at) == ("Cancelling/Cancelling", (), at(60))
    run.tick(0.001)
    assert (run.steps["a"], run.phase) == ("Cancelled/CancelTimedOut", "Cancelled/CancelTimedOut")
    assert run.step("a").message == "its work did not stop by the deadline and may still be running"
    assert run.condition("Cancelled") == "True/CancelTimedOut"
    assert run.message == (
        "cancelled; 1 of 1 steps were interrupted or never started; "
        "some work may still be running, see status.cancel.leftBehind"
    )
    assert run.record.left_behind == (LeftBehind(kind="ToolRun", name=child, uid=f"uid-of-{child}"),)
    assert run.record.lifecycle.finished_at == at(60)
    assert (run.actions, run.look_again_at) == ((), at(70))


@pytest.mark.rule("CAN-6")
def test_the_operators_bound_is_kept():
    """CAN-6: JANGAR_ORCHESTRATION_CANCEL_TIMEOUT_MS."""
    run = a_cancelled_run(limits=Limits(cancel_timeout=timedelta(seconds=7)))
    assert run.look_again_at == at(7)
    run.tick(7)
    assert run.phase == "Cancelled/CancelTimedOut"


@pytest.mark.rule("CAN-6")
def test_clean_up_goes_on_after_the_end_until_nothing_is_left():
    """CAN-6: the end of what was left is noted; phase and times of the run stay."""
    run = a_cancelled_run()
    run.tick(60)
    child = run.child("a")
    child.is_not_in_the_cache()
    run.tick(10)
    assert run.actions == (StopChild(child=child.name, reason="Cancelled", deadline=at(60)),)
    assert run.look_again_at == at(80)
    child.hears_stop()
    run.tick(10)
    assert (run.actions, run.look_again_at) == ((), at(90))
    child.ends_cancelled()
    run.tick(5)
    assert run.record.left_behind[0].ended_at == at(85)
    assert (run.actions, run.look_again_at) == ((), None)
    assert (run.phase, run.record.lifecycle.finished_at) == ("Cancelled/CancelTimedOut", at(60))
    quiet = run.record
    run.tick(100)
    assert run.record is quiet


@pytest.mark.rule("CAN-6")
def test_work_that_an_ended_child_left_behind_is_listed_under_the_child():
    """CAN-6: the child gave up 2 s earlier; the run's list names it until the child has nothing left."""
    run = a_cancelled_run()
    child = run.step("a").child
    run.now = at(58)
    run.child("a").ends_cancelled(left_behind=True)
    run.tick()
    assert (run.steps["a"], run.phase) == ("Cancelled/CancelTimedOut", "Cancelled/CancelTimedOut")
    assert run.record.left_behind == (LeftBehind(kind="ToolRun", name=child, uid=f"uid-of-{child}"),)
    assert (run.actions, run.look_again_at) == ((), at(68))
    run.tick(10)
    assert run.record.left_behind[0].ended_at is None
    run.child("a").ends_cancelled(left_behind=False)
    run.tick(1)
    assert (run.record.left_behind[0].ended_at, run.look_again_at) == (at(69), None)


@pytest.mark.rule("CAN-5")
def test_a_child_that_was_left_behind_does_not_move_the_end_of_the_run():
    """CAN-5: finishedAt is never earlier than any child's, except those listed as left behind."""
    run = Driver(a_definition(a_step("a", timeoutSeconds=10), a_step("b")))
    run.tick()
    run.child("a").runs()
    run.child("b").runs()
    run.tick(10)
    run.child("a").hears_stop()
    run.tick(60)
    assert (run.steps["a"], run.phase) == ("Failed/StepTimedOut", "Running/Running")
    run.child("a").becomes("Cancelled", finished_at=at(500))
    run.child("b").becomes("Succeeded", finished_at=at(75))
    run.tick(1)
    assert (run.phase, run.record.lifecycle.finished_at) == ("Failed/StepFailed", at(75))
    assert run.record.left_behind[0].ended_at == at(71)


@pytest.mark.rule("CAN-6")
def test_entries_stay_in_the_order_in_which_they_were_left():
    """CAN-6, DAG-8: earlier ones first, those of one pass in list order."""
    run = Driver(
        a_definition(
            a_step("b", timeoutSeconds=20), a_step("a", timeoutSeconds=20), a_step("c", timeoutSeconds=10)
        )
    )
    run.tick()
    run.tick(10)
    run.tick(10)
    run.tick(50)
    run.tick(10)
    assert [item.name.split("-")[1] for item in run.record.left_behind] == ["c", "b", "a"]
    assert [item.uid for item in run.record.left_behind] == [None, None, None]


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("step", "shown"),
    [
        pytest.param(a_step("a", timeoutSeconds=5), "ToolRun", id="tool-run"),
        pytest.param(
            {"name": "a", "kind": "SubOrchestration", "orchestrationRef": {"name": "o"}, "timeoutSeconds": 5},
            "OrchestrationRun",
            id="nested-run",
        ),
        pytest.param(
            {"name": "a", "kind": "ApprovalGate", "policyRef": "p", "timeoutSeconds": 5},
            "ApprovalGate",
            id="gate",
        ),
    ],
)
def test_what_is_left_behind_is_named_as_kubectl_names_it(step, shown):
    """CAN-6: kind, name and, once it was seen, uid."""
    run = Driver(a_definition(step), limits=Limits(supported_kinds=frozenset(StepKind)))
    run.tick()
    run.tick(5)
    run.tick(60)
    assert run.record.left_behind == (LeftBehind(kind=shown, name=run.step("a").child),)


@pytest.mark.rule("CAN-2", "CAN-5")
def test_a_child_that_arrives_after_the_end_is_listed_and_stopped():
    """CAN-2, CAN-5: its create was on the wire; the run's times stay, and the list says why."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.cancel()
    run.tick()
    run.children_read = ChildrenRead.AFTER_CANCEL
    run.child("a").is_gone()
    run.tick(1)
    assert (run.phase, run.record.left_behind) == ("Cancelled/Cancelled", ())
    run.child("a").runs()
    run.children_read = ChildrenRead.AFTER_REQUEST_TIMEOUT
    run.tick(10)
    child = run.step("a").child
    assert run.record.left_behind == (LeftBehind(kind="ToolRun", name=child, uid=f"uid-of-{child}"),)
    assert run.actions == (StopChild(child=child, reason="Cancelled", deadline=at(60)),)
    assert (run.look_again_at, run.record.lifecycle.finished_at) == (at(21), at(1))
    run.child("a").ends_cancelled()
    run.tick(1)
    assert (run.record.left_behind[0].ended_at, run.look_again_at) == (at(12), None)


@pytest.mark.rule("GC-9")
def test_deleting_a_run_is_a_cancel_and_then_it_goes():
    """GC-9: held while its work is stopped, then released."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.tick()
    run.child("a").runs()
    run.tick(1)
    run.delete()
    run.tick(1)
    assert run.phase == "Cancelling/Cancelling"
    assert run.actions == (
        StopChild(child=run.step("a").child, reason="Cancelled", deadline=at(60)),
        ReadChildren(),
    )
    run.children_read = ChildrenRead.AFTER_CANCEL
    run.child("a").ends_cancelled()
    run.tick(1)
    assert (run.phase, run.actions) == ("Cancelled/Cancelled", (RemoveRunFinalizer(),))


@pytest.mark.rule("GC-9")
def test_a_finished_run_that_is_deleted_goes_at_once():
    """GC-9: nothing is left to stop, and its status stays."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.child("a").succeeds()
    run.tick(1)
    before = run.record
    run.delete()
    run.tick(100)
    assert (run.actions, run.record) == ((RemoveRunFinalizer(),), before)


@pytest.mark.rule("GC-9", "CAN-6")
def test_a_deleted_run_goes_at_its_bound_and_names_what_is_left():
    """GC-9: within CAN-6's bound; then it goes, with a Warning naming what is left."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.child("a").runs()
    run.delete()
    run.tick()
    run.children_read = ChildrenRead.AFTER_CANCEL
    run.child("a").hears_stop()
    run.tick(60)
    assert (run.phase, run.actions) == (
        "Cancelled/CancelTimedOut",
        (RemoveRunFinalizer(left=(run.step("a").child,)),),
    )


@pytest.mark.rule("GC-9")
def test_a_run_deleted_after_its_cancel_timed_out_is_held_for_what_was_left():
    """GC-9: the bound counts from the deletion."""
    run = a_cancelled_run()
    run.tick(60)
    run.delete()
    run.tick(5)
    assert (run.actions, run.look_again_at) == ((), at(75))
    run.child("a").is_gone()
    run.tick(1)
    assert (run.actions, run.look_again_at) == ((RemoveRunFinalizer(),), None)
