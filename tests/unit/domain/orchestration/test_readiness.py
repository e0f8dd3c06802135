"""Which dependencies let a step start, and which make it Skipped (DAG-4, DAG-5, DAG-7)."""

import pytest

from jangar.api.phases import ExecutionMode, StepKind, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.planning.step_transitions import MAX_CAUSES, Roots, roots_of
from jangar.domain.orchestration.state import (
    StepState,
    blocks_dependents,
    is_unforgiven,
    releases,
    was_interrupted,
)

GRAPH, LIST = ExecutionMode.GRAPH, ExecutionMode.SEQUENTIAL


def a_state(phase=StepPhase.PENDING, reason="", **fields):
    return StepState(name="a", kind=StepKind.TOOL_RUN, phase=phase, reason=reason, **fields)


SUCCEEDED = a_state(StepPhase.SUCCEEDED, Reason.SUCCEEDED)
FAILED = a_state(StepPhase.FAILED, Reason.NON_ZERO_EXIT)
FORGIVEN = a_state(StepPhase.FAILED, Reason.NON_ZERO_EXIT, failure_ignored=True)
CANCELLED = a_state(StepPhase.CANCELLED, Reason.RUN_CANCELLED)
CANCELLED_LATE = a_state(StepPhase.CANCELLED, Reason.CANCEL_TIMED_OUT)
BY_HAND = a_state(StepPhase.CANCELLED, Reason.CHILD_CANCELLED)
PASSED_OVER = a_state(StepPhase.SKIPPED, Reason.CONDITION_FALSE)
SKIPPED = a_state(StepPhase.SKIPPED, Reason.DEPENDENCY_FAILED)
SKIPPED_BY_CANCEL = a_state(StepPhase.SKIPPED, Reason.RUN_CANCELLED)
LIVE = [a_state(), a_state(StepPhase.RUNNING), a_state(StepPhase.RETRYING, failure_ignored=True)]


@pytest.mark.rule("DAG-4")
@pytest.mark.parametrize("mode", [GRAPH, LIST], ids=str)
@pytest.mark.parametrize(
    ("state", "may"),
    [
        pytest.param(SUCCEEDED, True, id="succeeded"),
        pytest.param(FAILED, False, id="failed"),
        pytest.param(FORGIVEN, True, id="failed-and-forgiven"),
        pytest.param(CANCELLED, False, id="cancelled"),
        pytest.param(SKIPPED, False, id="skipped"),
    ],
)
def test_an_ended_dependency_either_releases_or_bars_its_dependents(mode, state, may):
    """DAG-4, DAG-5: Succeeded and forgiven failures release; every other end bars."""
    assert releases(state, mode) is may
    assert blocks_dependents(state, mode) is not may


@pytest.mark.rule("DAG-5")
def test_a_false_condition_is_passed_over_in_a_list_and_bars_in_a_graph():
    """DAG-5: in Sequential mode the next step runs."""
    assert releases(PASSED_OVER, LIST)
    assert not blocks_dependents(PASSED_OVER, LIST)
    assert not releases(PASSED_OVER, GRAPH)
    assert blocks_dependents(PASSED_OVER, GRAPH)


@pytest.mark.rule("DAG-4")
@pytest.mark.parametrize("mode", [GRAPH, LIST], ids=str)
@pytest.mark.parametrize("state", LIVE, ids=lambda state: str(state.phase))
def test_a_dependency_that_has_not_ended_neither_releases_nor_bars(state, mode):
    """DAG-4: the step waits."""
    assert not releases(state, mode)
    assert not blocks_dependents(state, mode)


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize(
    ("state", "unforgiven", "cut"),
    [
        pytest.param(SUCCEEDED, False, False, id="succeeded"),
        pytest.param(FAILED, True, False, id="failed"),
        pytest.param(FORGIVEN, False, False, id="failed-and-forgiven"),
        pytest.param(CANCELLED, False, True, id="cancelled-with-the-run"),
        pytest.param(CANCELLED_LATE, False, True, id="cancelled-and-left-behind"),
        pytest.param(BY_HAND, True, False, id="child-cancelled-by-hand"),
        pytest.param(PASSED_OVER, False, False, id="condition-false"),
        pytest.param(SKIPPED, False, False, id="dependency-failed"),
        pytest.param(SKIPPED_BY_CANCEL, False, True, id="never-started-for-the-cancel"),
        pytest.param(a_state(StepPhase.RUNNING, Reason.RUN_CANCELLED), False, False, id="running"),
    ],
)
def test_what_fails_a_run_and_what_a_cancel_cut(state, unforgiven, cut):
    """DAG-7: a child cancelled by hand fails the run; a cancel of the run cuts what it ends or keeps from starting."""
    assert is_unforgiven(state) is unforgiven
    assert was_interrupted(state) is cut


def never(index):
    raise AssertionError(f"the roots of {index} are not needed")


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize(
    ("needs", "states", "expected"),
    [
        pytest.param((0,), [FAILED], Roots(failed=(0,)), id="failed"),
        pytest.param((0,), [BY_HAND], Roots(failed=(0,)), id="cancelled-counts-as-failed"),
        pytest.param((0,), [PASSED_OVER], Roots(skipped_by_condition=(0,)), id="condition-false"),
        pytest.param((1, 0), [FAILED, FAILED], Roots(failed=(0, 1)), id="in-list-order"),
        pytest.param(
            (1, 0), [PASSED_OVER] * 2, Roots(skipped_by_condition=(0, 1)), id="several-false-conditions"
        ),
        pytest.param((0, 1), [SUCCEEDED, FAILED], Roots(failed=(1,)), id="good-ones-are-no-cause"),
        pytest.param((0, 1), [a_state(), FAILED], Roots(failed=(1,)), id="unended-ones-are-no-cause"),
        pytest.param((0, 1), [PASSED_OVER, FAILED], Roots(failed=(1,), skipped_by_condition=(0,)), id="both"),
    ],
)
def test_roots_are_the_nearest_ends_that_were_not_good_enough(needs, states, expected):
    """DAG-5: nearest failed ancestors, in list order."""
    assert roots_of(needs, states, GRAPH, never) == expected


@pytest.mark.rule("DAG-5")
def test_what_a_list_passes_over_is_no_root():
    """DAG-5: in Sequential mode a false condition bars nothing."""
    assert roots_of((0, 1), [PASSED_OVER, FAILED], LIST, never) == Roots(failed=(1,))


@pytest.mark.rule("DAG-5")
def test_roots_reach_through_skipped_steps():
    """DAG-5: a skipped dependency has its own causes, and each is reported once."""
    known = {1: Roots(failed=(0,)), 2: Roots(failed=(0,), skipped_by_condition=(4,))}
    states = [FAILED, SKIPPED, SKIPPED, FAILED, PASSED_OVER]
    assert roots_of((3, 2, 1), states, GRAPH, known.__getitem__) == Roots(
        failed=(0, 3), skipped_by_condition=(4,)
    )


@pytest.mark.rule("DAG-5")
def test_steps_skipped_for_the_same_roots_share_them():
    """DAG-14: one failure at the head of ten thousand steps costs one tuple, not ten thousand."""
    known = Roots(failed=(0,))
    assert roots_of((1, 2), [FAILED, SKIPPED, SKIPPED], GRAPH, lambda _: known) is known


@pytest.mark.rule("DAG-5")
@pytest.mark.parametrize(
    ("roots", "reason", "causes"),
    [
        pytest.param(Roots(failed=(1,)), Reason.DEPENDENCY_FAILED, (1,), id="failed"),
        pytest.param(
            Roots(skipped_by_condition=(2,)), Reason.DEPENDENCY_SKIPPED, (2,), id="only-a-false-condition"
        ),
        pytest.param(
            Roots(failed=(1,), skipped_by_condition=(0,)), Reason.DEPENDENCY_FAILED, (1,), id="failed-wins"
        ),
    ],
)
def test_a_failure_wins_over_a_false_condition(roots, reason, causes):
    """DAG-5: DependencySkipped only when the only root cause is a false `when`."""
    assert roots.reason is reason
    assert roots.causes == causes


@pytest.mark.rule("DAG-5")
def test_at_most_ten_causes_are_named():
    """DAG-5: at most 10."""
    assert MAX_CAUSES == 10
