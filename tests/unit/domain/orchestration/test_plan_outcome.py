"""How a run ends: phase, counts, conditions and times (DAG-7, ST-2, ST-3, ST-4, ST-5)."""

from dataclasses import replace

import pytest

from jangar.api.phases import Phase
from jangar.domain.cancellation import Cancel
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.status_contract import Lifecycle
from support.builders import NOON, a_definition, a_step, at
from support.run_driver import Driver


def ended(*steps, **ends):
    """A run whose steps ended as given: succeeds, fails, ends_cancelled."""
    run = Driver(a_definition(*steps))
    run.tick()
    for name, end in ends.items():
        getattr(run.child(name), end)()
    run.tick(1)
    return run


@pytest.mark.rule("DAG-7")
def test_a_run_succeeds_when_every_step_has():
    """DAG-7: with counts, conditions and times."""
    run = ended(a_step("a"), a_step("b"), a="succeeds", b="succeeds")
    assert (run.phase, run.message, run.actions, run.look_again_at) == ("Succeeded/Succeeded", None, (), None)
    assert run.counts == {"total": 2, "succeeded": 2}
    assert run.condition("Succeeded") == "True/Succeeded"
    life = run.record.lifecycle
    assert (life.started_at, life.finished_at, life.updated_at) == (NOON, at(1), at(1))


@pytest.mark.rule("DAG-7")
def test_forgiven_failures_are_counted_as_ignored_and_do_not_fail_the_run():
    """DAG-7: continueOnFailure forgives only that step's own failure."""
    run = ended(a_step("a", continueOnFailure=True), a_step("b"), a="fails", b="succeeds")
    assert (run.phase, run.message) == (
        "Succeeded/Succeeded",
        "1 failed step ignored because of continueOnFailure",
    )
    assert run.counts == {"total": 2, "succeeded": 1, "ignored": 1}


@pytest.mark.rule("DAG-7")
def test_forgiving_a_step_does_not_forgive_those_before_it():
    """DAG-7: only its own failure."""
    run = ended(a_step("a"), a_step("b", "a", continueOnFailure=True), a="fails")
    assert (run.steps["b"], run.phase) == ("Skipped/DependencyFailed", "Failed/StepFailed")
    assert run.counts == {"total": 2, "failed": 1, "skipped": 1}


@pytest.mark.rule("DAG-7")
def test_a_child_cancelled_by_hand_fails_the_run_though_it_says_continue():
    """DAG-7: never forgiven, never retried."""
    run = ended(a_step("a", continueOnFailure=True, retries=2), a_step("b"), a="ends_cancelled", b="succeeds")
    assert (run.steps["a"], run.phase) == ("Cancelled/ChildCancelled", "Failed/StepFailed")
    assert run.counts == {"total": 2, "succeeded": 1, "cancelled": 1}


@pytest.mark.rule("DAG-7")
def test_a_run_with_every_step_skipped_succeeds_without_having_started():
    """DAG-7, ST-4: finishedAt is set, startedAt is not."""
    run = Driver(a_definition(a_step("a", when="False")))
    run.tick(2)
    life = run.record.lifecycle
    assert (run.phase, life.started_at, life.finished_at) == ("Succeeded/Succeeded", None, at(2))


@pytest.mark.rule("DAG-7", "ST-5")
def test_a_failed_step_degrades_the_run_while_others_still_run():
    """DAG-7, ST-5: Running, Degraded=True; then Failed with the reason."""
    run = ended(a_step("a"), a_step("b"), a="fails")
    assert (run.phase, run.condition("Degraded")) == ("Running/Running", "True/StepFailed")
    run.child("b").succeeds()
    run.tick(1)
    assert (run.phase, run.condition("Failed")) == ("Failed/StepFailed", "True/StepFailed")
    assert run.message == "step a failed: ChildFailed"


@pytest.mark.rule("ST-4")
def test_a_run_does_not_finish_before_its_children():
    """ST-4: finishedAt = max(now, its children's)."""
    run = Driver(a_definition(a_step("a"), a_step("b")))
    run.tick()
    run.child("a").becomes(Phase.SUCCEEDED, finished_at=at(9))
    run.child("b").becomes(Phase.SUCCEEDED, finished_at=at(8))
    run.tick(1)
    assert run.record.lifecycle.finished_at == at(9)
    later = Driver(a_definition(a_step("a")))
    later.tick()
    later.child("a").succeeds()
    later.tick(30)
    assert later.record.lifecycle.finished_at == at(30)


@pytest.mark.rule("ST-3")
def test_a_finished_run_that_no_one_touches_costs_nothing():
    """ST-3: zero writes, no actions, no timer."""
    run = ended(a_step("a"), a="succeeds")
    before = run.record
    run.tick(1000)
    assert run.record is before
    assert (run.actions, run.look_again_at) == ((), None)


@pytest.mark.rule("ST-4")
def test_a_run_whose_start_was_not_recorded_has_started_when_its_end_is_seen():
    """ST-4: startedAt is set for work that ran, and is not after finishedAt."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.record = replace(run.record, lifecycle=Lifecycle())
    run.child("a").succeeds()
    run.tick(3)
    life = run.record.lifecycle
    assert (life.phase, life.started_at, life.finished_at) == ("Succeeded", at(3), at(3))


@pytest.mark.rule("ST-3")
def test_a_pass_without_transitions_returns_the_same_steps():
    """ST-3, DAG-14: ten thousand steps are not copied for a new generation."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    before = run.record
    run.change(generation=2)
    run.tick(1)
    assert run.record.lifecycle.observed_generation == 2
    assert run.record.steps is before.steps


@pytest.mark.rule("ST-3")
def test_a_live_run_in_which_nothing_happened_costs_nothing():
    """ST-3: the very record, however much time has passed."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.tick()
    run.child("a").runs()
    run.tick(1)
    before = run.record
    run.tick(1000)
    assert run.record is before


@pytest.mark.rule("DAG-16", "ST-4")
def test_a_terminal_phase_is_final():
    """DAG-16: whatever a child says later."""
    run = ended(a_step("a"), a="succeeds")
    before = run.record
    run.child("a").fails("NonZeroExit")
    run.tick(5)
    assert run.record is before


@pytest.mark.rule("ST-2")
def test_the_generation_advances_for_a_finished_run_and_nothing_else_moves():
    """ST-2: also when the change is ignored."""
    run = ended(a_step("a"), a="fails")
    before = run.record.lifecycle
    run.change(generation=2, suspend=True)
    run.tick(5)
    after = run.record.lifecycle
    assert (after.observed_generation, after.updated_at) == (2, at(6))
    assert replace(after, observed_generation=1, updated_at=at(1), conditions=()) == replace(
        before, conditions=()
    )
    assert run.condition("Suspended") is None


@pytest.mark.rule("ST-5")
def test_a_finished_run_of_an_older_version_gets_its_conditions():
    """ST-1, ST-5: phase, reason and message are kept and say what the conditions say."""
    run = Driver(a_definition(a_step("a")))
    run.record = RunRecord(
        lifecycle=Lifecycle(
            phase=Phase.FAILED, reason="StepFailed", message="step a failed", finished_at=NOON
        )
    )
    run.tick(5)
    failed = run.whole_condition("Failed")
    assert (failed.status, failed.reason, failed.message) == ("True", "StepFailed", "step a failed")
    assert (run.phase, run.message, run.record.lifecycle.finished_at) == (
        "Failed/StepFailed",
        "step a failed",
        NOON,
    )


@pytest.mark.rule("ST-5")
def test_a_finished_run_without_a_reason_stays_as_it_is():
    """ST-4: set once, never made up."""
    run = Driver(a_definition(a_step("a")))
    run.record = RunRecord(lifecycle=Lifecycle(phase=Phase.SUCCEEDED, finished_at=NOON))
    run.tick(5)
    ready = run.whole_condition("Ready")
    assert (ready.status, ready.reason, ready.message) == ("True", "", "")
    assert (run.record.lifecycle.reason, run.message) == (None, None)


@pytest.mark.rule("CAN-7")
def test_a_finished_run_is_not_reported_later_that_its_cancel_was_ignored():
    """CAN-7: whether the cancel cut anything was decided at the end, and only then."""
    run = Driver(a_definition(a_step("a")))
    run.record = RunRecord(
        lifecycle=Lifecycle(phase=Phase.FAILED, reason="RunTimedOut", finished_at=NOON),
        cancel=Cancel(requested_at=NOON, deadline=at(60), requested_by=("cancel",)),
    )
    run.cancel()
    run.tick(5)
    assert run.condition("CancelIgnored") is None


@pytest.mark.rule("DAG-7", "DAG-16")
def test_a_run_that_has_started_stays_running_while_what_is_left_waits():
    """DAG-7: Pending is for a run of which nothing has started."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.reused = {"a": {}}
    run.change(suspend=True)
    run.tick()
    assert (run.phase, run.record.lifecycle.started_at) == ("Pending/Suspended", None)
    run.change(suspend=False)
    run.tick(4)
    assert (run.phase, run.record.lifecycle.started_at) == ("Running/Running", at(4))
