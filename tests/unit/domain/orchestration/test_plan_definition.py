"""A run and its definition: missing, rejected, not stored yet, and as it was at the start (DAG-2, DAG-3)."""

import pytest

from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.planning.actions import (
    PinDefinition,
    RemoveRunFinalizer,
    StartChild,
    StopChild,
)
from jangar.domain.orchestration.planning.observation import DefinitionMissing, DefinitionRejected, Limits
from jangar.domain.orchestration.planning.plan import plan
from support.builders import NOON, a_child, a_definition, a_step, an_observation, at
from support.run_driver import Driver

MISSING = DefinitionMissing(message='Orchestration "nightly" does not exist')
REJECTED = DefinitionRejected(
    problems=[
        Problem(reason=Reason.DUPLICATE_STEP, path=("spec", "steps", 1, "name"), message="twice"),
        Problem(reason=Reason.ENTRYPOINT_MISSING, path=("spec", "entrypoint"), message="no such step"),
    ]
)


@pytest.mark.rule("DAG-2")
def test_a_run_waits_for_its_definition_and_goes_on_when_it_appears():
    """DAG-2: Pending, Ready=False/ReferenceNotFound, then it starts."""
    run = Driver(MISSING)
    run.tick()
    assert (run.phase, run.message) == ("Pending/ReferenceNotFound", 'Orchestration "nightly" does not exist')
    assert (run.condition("Ready"), run.condition("Progressing")) == (
        "False/ReferenceNotFound",
        "False/ReferenceNotFound",
    )
    assert (run.actions, run.look_again_at, run.record.steps) == ((), None, ())
    run.definition = a_definition(a_step("a"))
    run.pinned = False
    run.tick(5)
    assert (run.phase, run.actions) == ("Pending/Pending", (PinDefinition(),))
    assert run.condition("Ready") == "Unknown/Pending"
    run.pinned = True
    run.tick(1)
    assert (run.phase, run.starts) == ("Running/Running", ["a"])


@pytest.mark.rule("DAG-2")
def test_a_run_of_a_bad_definition_fails_at_once_with_every_problem():
    """DAG-2: Failed/InvalidSpec, and starts nothing."""
    run = Driver(REJECTED)
    run.tick(3)
    assert (run.phase, run.message) == (
        "Failed/InvalidSpec",
        "spec.steps[1].name: twice; spec.entrypoint: no such step",
    )
    life = run.record.lifecycle
    assert (run.actions, run.record.steps, life.started_at, life.finished_at) == ((), (), None, at(3))
    assert run.condition("Failed") == "True/InvalidSpec"


@pytest.mark.rule("DAG-3")
def test_nothing_starts_before_the_definition_is_stored():
    """DAG-3: the snapshot is an immutable object owned by the run; it is asked for until it is there."""
    run = Driver(a_definition(a_step("a")))
    run.pinned = False
    for _ in range(2):
        plan_ = run.tick(1)
        assert (plan_.actions, plan_.look_again_at) == ((PinDefinition(),), None)
        assert (run.phase, run.record.steps, run.record.mode) == ("Pending/Pending", (), None)
    run.pinned = True
    run.tick(1)
    assert run.starts == ["a"]


@pytest.mark.rule("DAG-3")
def test_a_run_under_way_asks_for_no_snapshot():
    """DAG-3: it was stored when the run started."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.pinned = False
    run.tick(1)
    assert [type(action) for action in run.actions] == [StartChild]


@pytest.mark.rule("DAG-3", "DAG-10")
def test_the_definitions_own_limit_counts_before_it_is_stored():
    """DAG-10: look again at the run's limit, regardless of its source."""
    run = Driver(a_definition(a_step("a"), policies={"timeouts": {"totalSeconds": 9}}))
    run.pinned = False
    assert run.tick().look_again_at == at(9)


@pytest.mark.rule("CAN-8")
@pytest.mark.parametrize(
    ("definition", "pinned"),
    [
        pytest.param(MISSING, True, id="missing"),
        pytest.param(a_definition(a_step("a")), False, id="not-stored"),
    ],
)
def test_a_run_that_has_not_started_is_cancelled_at_once(definition, pinned):
    """CAN-8: while the run is Pending; there is nothing to wait for."""
    run = Driver(definition)
    run.pinned = pinned
    run.tick()
    run.cancel()
    run.tick(1)
    assert (run.phase, run.message) == ("Cancelled/Cancelled", "cancelled before it started")
    assert run.condition("Cancelled") == "True/Cancelled"
    assert run.record.cancel.requested_at == at(1)
    assert (run.actions, run.look_again_at) == ((), None)
    assert (run.record.lifecycle.started_at, run.record.lifecycle.finished_at) == (None, at(1))


@pytest.mark.rule("GC-9")
def test_a_deleted_run_that_has_not_started_is_released_at_once():
    """GC-9: deleting is a cancel, and nothing runs."""
    run = Driver(MISSING)
    run.tick()
    run.delete()
    run.tick(1)
    assert (run.phase, run.actions) == ("Cancelled/Cancelled", (RemoveRunFinalizer(),))


@pytest.mark.rule("GC-9")
def test_a_deleted_run_without_a_definition_is_held_for_a_child_that_still_lives():
    """GC-9: within the bound, counted from the deletion."""
    run = Driver(MISSING)
    run.tick()
    run.children["stray"] = a_child("stray")
    run.delete()
    run.tick(1)
    assert run.actions == (StopChild(child="stray", reason="Cancelled", deadline=at(61)),)
    assert run.look_again_at == at(60)
    run.tick(59)
    assert run.actions[1:] == (RemoveRunFinalizer(left=("stray",)),)


@pytest.mark.rule("CAN-7")
def test_a_cancel_of_a_run_with_a_bad_definition_came_too_late():
    """CAN-7: AlreadyFailed, in the very pass in which it fails."""
    run = Driver(REJECTED)
    run.cancel()
    run.tick()
    assert (run.phase, run.condition("CancelIgnored")) == ("Failed/InvalidSpec", "True/AlreadyFailed")


@pytest.mark.rule("CAN-9")
def test_a_waiting_run_says_that_cancel_is_switched_off():
    """CAN-9: CancelDisabled, and it keeps waiting."""
    run = Driver(MISSING, limits=Limits(cancel_enabled=False))
    run.cancel()
    run.tick()
    assert (run.phase, run.record.cancel) == ("Pending/ReferenceNotFound", None)
    assert run.condition("CancelIgnored") == "True/CancelDisabled"


@pytest.mark.rule("DAG-15")
def test_a_suspended_run_stores_its_definition():
    """DAG-3, DAG-15: as it is when the run begins, not when it is resumed."""
    run = Driver(a_definition(a_step("a")), suspend=True)
    run.pinned = False
    run.tick()
    assert (run.phase, run.actions) == ("Pending/Pending", (PinDefinition(),))
    assert run.condition("Suspended") == "True/Suspended"


@pytest.mark.rule("DAG-8")
def test_a_plan_that_had_no_steps_is_no_basis():
    """DAG-8: it may still be handed in."""
    run = Driver(MISSING)
    before = run.tick()
    assert before.basis is None
    made = plan(an_observation(a_definition(a_step("a"))), NOON, before)
    assert [type(action) for action in made.actions] == [StartChild]
