"""How many steps are in which phase (DAG-7)."""

import pytest

from jangar.api.phases import StepKind, StepPhase
from jangar.domain.orchestration.state import Counts, StepState


def a_state(phase, **fields):
    return StepState(name="a", kind=StepKind.TOOL_RUN, phase=phase, **fields)


PENDING, RUNNING = a_state(StepPhase.PENDING), a_state(StepPhase.RUNNING)
FAILED = a_state(StepPhase.FAILED)
FORGIVEN = a_state(StepPhase.FAILED, failure_ignored=True)
ONE_OF_EACH = [a_state(phase) for phase in StepPhase]


@pytest.mark.rule("DAG-7")
def test_every_phase_is_counted_and_forgiven_failures_are_ignored_not_failed():
    """DAG-7: succeeded, failed, ignored, skipped, cancelled are structured fields."""
    assert Counts.of([*ONE_OF_EACH, FORGIVEN, FORGIVEN]).document() == {
        "total": 9,
        "pending": 1,
        "running": 1,
        "retrying": 1,
        "succeeded": 1,
        "failed": 1,
        "skipped": 1,
        "cancelled": 1,
        "ignored": 2,
    }


@pytest.mark.rule("DAG-7")
def test_a_run_without_steps_has_all_counts_zero():
    """DAG-7: a field that is zero is still there."""
    assert set(Counts.of([]).document().values()) == {0}


@pytest.mark.rule("DAG-7")
def test_ended_are_succeeded_failed_skipped_and_cancelled():
    """DAG-7: four of the seven phases are ends."""
    counts = Counts.of([*ONE_OF_EACH, FORGIVEN])
    assert counts.ended == 5
    assert counts.total == 8
    assert Counts.of([PENDING]).ended == 0


@pytest.mark.rule("DAG-7")
def test_counts_after_a_transition_equal_a_full_count():
    """DAG-7: counts follow a step from phase to phase."""
    counts = Counts.of([PENDING, RUNNING, RUNNING])
    counts.move(PENDING, RUNNING)
    counts.move(RUNNING, FORGIVEN)
    counts.move(RUNNING, FAILED)
    assert counts.document() == Counts.of([RUNNING, FORGIVEN, FAILED]).document()
    counts.move(FORGIVEN, FAILED)
    assert counts.document() == Counts.of([RUNNING, FAILED, FAILED]).document()


def test_a_copy_counts_for_itself():
    """DAG-8: a pass works on its own copy."""
    counts = Counts.of([PENDING, FORGIVEN])
    copy = counts.copy()
    assert copy == counts
    copy.move(PENDING, FORGIVEN)
    assert counts.document() == Counts.of([PENDING, FORGIVEN]).document()
    assert copy.document() == Counts.of([FORGIVEN, FORGIVEN]).document()
