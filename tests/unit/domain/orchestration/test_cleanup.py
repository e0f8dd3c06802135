"""What is left to do about work that outlived its run or its stop (CAN-2, CAN-6, GC-9)."""

from dataclasses import replace

import pytest

from jangar.api.phases import Phase, StepKind, StepPhase
from jangar.domain.cancellation import Cancel, LeftBehind
from jangar.domain.orchestration.planning.actions import ReadChildren, RemoveRunFinalizer, StopChild
from jangar.domain.orchestration.planning.cleanup import (
    CleanupPlan,
    cleanup_plan,
    late_children,
    refresh_left_behind,
)
from jangar.domain.orchestration.planning.observation import ChildGone, ChildrenRead
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.domain.status_contract import Lifecycle
from support.builders import NOON, a_child, a_definition, a_run, a_step, an_observation, at

DEFINITION = a_definition(a_step("a"))
LEFT = LeftBehind(kind="ToolRun", name="left", uid="uid-of-left")
ENDED = replace(LEFT, ended_at=at(1))
CANCEL = Cancel(requested_at=NOON, deadline=at(60))
OVER = Lifecycle(phase=Phase.CANCELLED, finished_at=at(60))
RUNNING = Lifecycle(phase=Phase.RUNNING)
STARTED = StepState(name="a", kind=StepKind.TOOL_RUN, phase=StepPhase.CANCELLED, attempt=1, child="a-1")
SEEN = replace(STARTED, child_uid="uid-of-a-1")
RUNS, ACKNOWLEDGED = a_child("left"), a_child("left", stop_requested=True)
LATER = at(70)


def after(record, *children, now=LATER, deleted_at=None, read=ChildrenRead.NOT_YET):
    observation = an_observation(
        DEFINITION, children=children, run=a_run(deleted_at=deleted_at), children_read=read
    )
    return cleanup_plan(observation, record, now)


def stop(name, deadline):
    return StopChild(child=name, reason="Cancelled", deadline=deadline)


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("left", "child", "expected"),
    [
        pytest.param(LEFT, None, None, id="not-in-the-cache-says-nothing"),
        pytest.param(LEFT, RUNS, None, id="runs"),
        pytest.param(LEFT, a_child("left", Phase.CANCELLED), at(9), id="ended"),
        pytest.param(
            LEFT, a_child("left", Phase.CANCELLED, left_behind=True), None, id="its-own-work-may-run"
        ),
        pytest.param(LEFT, ChildGone(name="left"), at(9), id="gone"),
        pytest.param(ENDED, ChildGone(name="left"), at(1), id="noted-once"),
        pytest.param(ENDED, RUNS, at(1), id="never-unnoted"),
    ],
)
def test_the_end_of_what_was_left_behind_is_noted_once(left, child, expected):
    """CAN-6: entries stay, with the time at which their end was seen."""
    children = {"left": child} if child else {}
    assert refresh_left_behind((left,), children, at(9)) == (replace(left, ended_at=expected),)


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize("lifecycle", [RUNNING, OVER], ids=["while-the-run-goes-on", "after-its-end"])
@pytest.mark.parametrize(
    ("left", "children", "expected"),
    [
        pytest.param(
            (LEFT,), [], CleanupPlan(actions=(stop("left", at(60)),), look_again_at=at(80)), id="unseen"
        ),
        pytest.param(
            (LEFT,), [RUNS], CleanupPlan(actions=(stop("left", at(60)),), look_again_at=at(80)), id="runs"
        ),
        pytest.param((LEFT,), [ACKNOWLEDGED], CleanupPlan(look_again_at=at(80)), id="has-heard"),
        pytest.param(
            (LEFT,),
            [a_child("left", Phase.FAILED, left_behind=True)],
            CleanupPlan(look_again_at=at(80)),
            id="ended-and-cleans-up-by-itself",
        ),
        pytest.param((ENDED,), [], CleanupPlan(), id="ended"),
        pytest.param((), [], CleanupPlan(), id="nothing-left"),
    ],
)
def test_what_was_left_behind_is_stopped_again_until_it_has_ended(left, children, lifecycle, expected):
    """CAN-6: cleanup continues after the terminal phase until nothing is left."""
    record = RunRecord(lifecycle=lifecycle, left_behind=left, cancel=CANCEL, steps=(SEEN,))
    assert after(record, *children) == expected


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("lifecycle", "deadline"),
    [pytest.param(OVER, at(60), id="finished"), pytest.param(RUNNING, at(70), id="running")],
)
def test_without_a_cancel_what_is_left_is_to_stop_at_once(lifecycle, deadline):
    """CAN-6: left by a step's timeout; its time is over already."""
    record = RunRecord(lifecycle=lifecycle, left_behind=(LEFT,))
    assert after(record, RUNS).actions == (stop("left", deadline),)


@pytest.mark.rule("CAN-2")
def test_children_that_live_on_after_the_end_are_stopped_in_a_fixed_order():
    """CAN-2: a child whose create was in flight is found and stopped; ended and already stopped ones are left alone."""
    record = RunRecord(lifecycle=OVER, cancel=CANCEL, steps=(SEEN,), left_behind=(LEFT,))
    children = [
        a_child("z"),
        a_child("b"),
        a_child("done", Phase.SUCCEEDED),
        a_child("told", stop_requested=True),
        ChildGone(name="gone"),
        ACKNOWLEDGED,
    ]
    assert after(record, *children).actions == (stop("b", at(60)), stop("z", at(60)))


@pytest.mark.rule("CAN-2")
def test_children_of_a_run_under_way_are_not_strays():
    """CAN-2: the run's steps manage them."""
    assert after(RunRecord(lifecycle=RUNNING, cancel=CANCEL, steps=(STARTED,)), a_child("z")) == CleanupPlan()


@pytest.mark.rule("CAN-2")
@pytest.mark.parametrize(
    ("steps", "cancel", "read", "now", "expected"),
    [
        pytest.param(
            (STARTED,), CANCEL, 1, at(9.999), CleanupPlan(look_again_at=at(10)), id="before-the-timeout"
        ),
        pytest.param(
            (STARTED,), CANCEL, 1, at(10), CleanupPlan(actions=(ReadChildren(),)), id="at-the-timeout"
        ),
        pytest.param((STARTED,), CANCEL, 2, at(10), CleanupPlan(), id="was-repeated"),
        pytest.param((SEEN,), CANCEL, 1, at(10), CleanupPlan(), id="every-child-was-seen"),
        pytest.param((replace(STARTED, attempt=0),), CANCEL, 1, at(10), CleanupPlan(), id="never-started"),
        pytest.param((STARTED,), None, 1, at(10), CleanupPlan(), id="not-cancelled"),
        pytest.param(
            (SEEN, STARTED), CANCEL, 0, at(10), CleanupPlan(actions=(ReadChildren(),)), id="one-unseen"
        ),
    ],
)
def test_a_child_that_was_never_seen_is_looked_for_after_the_request_timeout(
    steps, cancel, read, now, expected
):
    """CAN-2: the uncached read is repeated after the request timeout."""
    record = RunRecord(lifecycle=OVER, cancel=cancel, steps=steps)
    assert after(record, now=now, read=ChildrenRead(read)) == expected


@pytest.mark.rule("GC-9")
@pytest.mark.parametrize(
    ("left", "children", "now", "expected"),
    [
        pytest.param((), [], at(0), CleanupPlan(actions=(RemoveRunFinalizer(),)), id="nothing-left"),
        pytest.param((ENDED,), [], at(2), CleanupPlan(actions=(RemoveRunFinalizer(),)), id="all-ended"),
        pytest.param(
            (LEFT,), [ACKNOWLEDGED], at(59.999), CleanupPlan(look_again_at=at(60)), id="held-within-the-bound"
        ),
        pytest.param(
            (LEFT,), [ACKNOWLEDGED], at(1), CleanupPlan(look_again_at=at(11)), id="held-and-looked-after"
        ),
        pytest.param(
            (LEFT,),
            [ACKNOWLEDGED],
            at(60),
            CleanupPlan(actions=(RemoveRunFinalizer(left=("left",)),), look_again_at=at(70)),
            id="goes-at-the-bound",
        ),
        pytest.param(
            (),
            [a_child("stray", stop_requested=True)],
            at(1),
            CleanupPlan(look_again_at=at(60)),
            id="a-stray-that-was-told-holds-it",
        ),
        pytest.param(
            (),
            [a_child("stray")],
            at(1),
            CleanupPlan(actions=(stop("stray", at(60)),), look_again_at=at(60)),
            id="a-stray-holds-it",
        ),
        pytest.param(
            (LEFT,),
            [ACKNOWLEDGED, a_child("astray", stop_requested=True)],
            at(60),
            CleanupPlan(actions=(RemoveRunFinalizer(left=("astray", "left")),), look_again_at=at(70)),
            id="everything-left-is-named",
        ),
    ],
)
def test_a_deleted_run_is_held_while_its_work_stops_and_then_goes(left, children, now, expected):
    """GC-9: within CAN-6's bound, counted from the deletion; then it goes, naming what is left."""
    record = RunRecord(lifecycle=OVER, cancel=CANCEL, steps=(SEEN,), left_behind=left)
    assert after(record, *children, now=now, deleted_at=NOON) == expected


@pytest.mark.rule("GC-9")
def test_a_run_is_released_only_when_it_is_deleted_and_over():
    """GC-9: a live run is stopped first; one that is not deleted stays."""
    assert after(RunRecord(lifecycle=OVER)) == CleanupPlan()
    assert after(RunRecord(lifecycle=RUNNING), deleted_at=NOON) == CleanupPlan()


@pytest.mark.rule("CAN-2", "CAN-6")
@pytest.mark.parametrize(
    ("state", "child", "listed"),
    [
        pytest.param(STARTED, a_child("a-1"), True, id="arrived-after-the-end"),
        pytest.param(SEEN, a_child("a-1"), False, id="was-seen-before"),
        pytest.param(STARTED, ChildGone(name="a-1"), False, id="is-not-there"),
        pytest.param(STARTED, None, False, id="not-in-the-cache"),
        pytest.param(replace(STARTED, child=None), a_child("a-1"), False, id="had-none"),
        pytest.param(replace(STARTED, child="left"), a_child("left"), False, id="is-listed-already"),
    ],
)
def test_a_child_that_arrives_after_the_end_is_listed(state, child, listed):
    """CAN-5, CAN-6: its end may lie after the run's, so the list names it."""
    record = RunRecord(lifecycle=OVER, steps=(SEEN, state), left_behind=(LEFT,))
    children = {child.name: child} if child else {}
    expected = LeftBehind(kind="ToolRun", name="a-1", uid="uid-of-a-1")
    assert late_children(record, children) == ((expected,) if listed else ())


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        pytest.param(StepKind.AGENT_RUN, "AgentRun", id="agent-run"),
        pytest.param(StepKind.SUB_ORCHESTRATION, "OrchestrationRun", id="nested-run"),
        pytest.param(StepKind.APPROVAL_GATE, "ApprovalGate", id="has-no-object"),
    ],
)
def test_the_list_names_objects_as_kubectl_does(kind, shown):
    """CAN-6: kind and name lead to the object."""
    record = RunRecord(lifecycle=OVER, steps=(replace(STARTED, kind=kind),))
    assert late_children(record, {"a-1": a_child("a-1")})[0].kind == shown


@pytest.mark.rule("GC-6", "GC-9")
def test_a_deleted_run_waits_for_its_history_within_the_bound():
    """After the bound the finalizer is removed anyway."""
    record = RunRecord(lifecycle=OVER)
    observation = an_observation(DEFINITION, run=a_run(deleted_at=NOON), history_pending=True)
    bound = NOON + observation.limits.cancel_timeout
    assert cleanup_plan(observation, record, NOON) == CleanupPlan(look_again_at=bound)
    assert cleanup_plan(observation, record, bound) == CleanupPlan(actions=(RemoveRunFinalizer(left=()),))
