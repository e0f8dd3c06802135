"""A run that repeats another (DAG-16)."""

import pytest

from jangar.domain.orchestration.planning.actions import StartChild
from jangar.domain.orchestration.planning.initial import reused_steps
from support.builders import NOON, a_definition, a_step
from support.run_driver import Driver

DEFINITION = a_definition(
    a_step("build"),
    a_step("test", "build", **{"with": {"image": "{{ steps.build.outputs.image }}"}}),
    a_step("docs"),
)


def a_failed_run():
    run = Driver(DEFINITION)
    run.tick()
    run.child("build").succeeds(image="nginx")
    run.child("docs").succeeds()
    run.tick(1)
    run.child("test").fails("NonZeroExit")
    run.tick(1)
    assert run.phase == "Failed/StepFailed"
    return run


@pytest.mark.rule("DAG-16")
def test_a_retry_keeps_what_succeeded_with_its_outputs_and_repeats_the_rest():
    """DAG-16: kept steps are Succeeded/Reused with their outputs copied; names are the new run's own."""
    old = a_failed_run()
    run = Driver(DEFINITION, uid="uid-2", name="nightly-retry")
    run.reused = reused_steps(DEFINITION, old.record.steps, None)
    run.tick()
    assert run.steps == {
        "build": "Succeeded/Reused",
        "test": "Pending/Starting",
        "docs": "Succeeded/Reused",
    }
    assert run.step("build").outputs == {"image": "nginx"}
    test = run.step("test")
    assert run.actions == (
        StartChild(step="test", kind=test.kind, attempt=1, child=test.child, parameters={"image": "nginx"}),
    )
    assert test.child != old.step("test").child
    run.child("test").succeeds()
    run.tick(1)
    assert run.phase == "Succeeded/Succeeded"
    assert run.counts == {"total": 3, "succeeded": 3}


@pytest.mark.rule("DAG-16")
def test_a_retry_from_a_step_repeats_it_and_what_depends_on_it():
    """DAG-16: fromStep."""
    run = Driver(DEFINITION, uid="uid-2")
    run.reused = reused_steps(DEFINITION, a_failed_run().record.steps, "build")
    run.tick()
    assert run.steps == {"build": "Pending/Starting", "test": "Pending/", "docs": "Succeeded/Reused"}


@pytest.mark.rule("DAG-16")
def test_what_was_kept_is_copied_once_and_then_the_record_counts():
    """DAG-16: the old run may be deleted while the new one runs."""
    run = Driver(DEFINITION, uid="uid-2")
    run.reused = {"build": {"image": "nginx"}}
    run.tick()
    run.reused = {}
    run.tick(1)
    assert (run.steps["build"], run.step("build").finished_at) == ("Succeeded/Reused", NOON)


@pytest.mark.rule("DAG-16")
def test_a_retry_with_nothing_to_repeat_succeeds_at_once():
    """DAG-16: every step was kept."""
    run = Driver(DEFINITION, uid="uid-2")
    run.reused = {"build": {}, "test": {}, "docs": {}}
    run.tick()
    assert (run.phase, run.actions, run.record.lifecycle.started_at) == ("Succeeded/Succeeded", (), None)
