"""A suspended run (DAG-15)."""

import pytest

from jangar.domain.orchestration.planning.actions import StopChild, SuspendChild
from support.builders import a_definition, a_step, at
from support.run_driver import Driver

NESTED = {"name": "inner", "kind": "SubOrchestration", "orchestrationRef": {"name": "build"}, "dependsOn": []}


@pytest.mark.rule("DAG-15")
def test_a_run_created_suspended_is_pending_and_starts_nothing():
    """DAG-15: condition Suspended=True; `false` resumes."""
    run = Driver(a_definition(a_step("a")), suspend=True)
    run.tick()
    assert (run.phase, run.actions) == ("Pending/Suspended", ())
    assert run.message == "nothing new starts until spec.suspend is false"
    assert (run.condition("Suspended"), run.condition("Progressing")) == ("True/Suspended", "False/Suspended")
    assert run.steps == {"a": "Pending/"}
    run.change(suspend=False)
    run.tick(5)
    assert (run.phase, run.starts) == ("Running/Running", ["a"])
    assert run.condition("Suspended") == "False/NotSuspended"
    assert run.record.lifecycle.started_at == at(5)


@pytest.mark.rule("DAG-15")
def test_what_runs_goes_on_and_nothing_follows_it():
    """DAG-15: no new step; the end of what runs is recorded."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.tick()
    run.child("a").runs()
    run.change(suspend=True)
    run.tick(1)
    assert (run.phase, run.steps["a"]) == ("Running/Suspended", "Running/Running")
    run.child("a").succeeds()
    run.tick(1)
    assert (run.steps, run.actions) == ({"a": "Succeeded/Succeeded", "b": "Pending/"}, ())
    run.tick(1)
    assert run.actions == ()
    run.change(suspend=False)
    run.tick(1)
    assert run.starts == ["b"]


@pytest.mark.rule("DAG-15")
def test_no_new_attempt_starts():
    """DAG-15: a retry that is due waits for the resume, without a timer."""
    run = Driver(a_definition(a_step("a", retries=1, retryBackoffSeconds=5)))
    run.tick()
    run.child("a").fails()
    run.change(suspend=True)
    run.tick(1)
    assert (run.steps["a"], run.look_again_at) == ("Retrying/ChildFailed", at(6))
    run.tick(5)
    assert (run.actions, run.look_again_at) == ((), None)
    run.change(suspend=False)
    run.tick(10)
    assert (run.starts, run.step("a").attempt) == (["a"], 2)


@pytest.mark.rule("DAG-15")
def test_conditions_are_not_evaluated_while_suspended():
    """DAG-15: starting nothing includes deciding nothing about what would start."""
    run = Driver(a_definition(a_step("a", when="False"), a_step("b")), suspend=True)
    run.tick()
    assert run.steps == {"a": "Pending/", "b": "Pending/"}


@pytest.mark.rule("DAG-5", "DAG-15")
def test_what_follows_from_a_failure_is_skipped_though_suspended():
    """DAG-5: at once."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a"), a_step("c")))
    run.tick()
    run.child("a").fails()
    run.change(suspend=True)
    run.tick(1)
    assert run.steps["b"] == "Skipped/DependencyFailed"


@pytest.mark.rule("DAG-6", "DAG-15")
def test_fail_fast_acts_though_suspended():
    """DAG-6: it starts nothing, so nothing keeps it."""
    run = Driver(a_definition(a_step("a"), a_step("b"), a_step("c", "b"), policies={"failFast": True}))
    run.tick()
    run.child("b").runs()
    run.child("a").fails()
    run.change(suspend=True)
    run.tick(1)
    assert run.steps["c"] == "Skipped/FailFast"


@pytest.mark.rule("DAG-15")
def test_timeouts_go_on():
    """DAG-15: running steps and timeouts continue."""
    limit = {"timeouts": {"totalSeconds": 20}}
    run = Driver(a_definition(a_step("a", timeoutSeconds=10), a_step("b", "a"), policies=limit))
    run.tick()
    run.child("a").runs()
    run.change(suspend=True)
    run.tick(1)
    assert run.look_again_at == at(10)
    run.tick(9)
    assert run.steps["a"] == "Running/Stopping"
    run.tick(10)
    assert run.steps["b"] == "Skipped/RunTimedOut"


@pytest.mark.rule("DAG-15")
def test_suspend_and_its_end_are_passed_to_nested_runs_once():
    """DAG-15: until the nested run acknowledges it."""
    run = Driver(a_definition(NESTED), lineage=("nightly",))
    run.tick()
    run.child("inner").runs()
    run.tick(1)
    run.change(suspend=True)
    run.tick(1)
    child = run.step("inner").child
    assert run.actions == (SuspendChild(child=child, suspend=True),)
    run.tick(1)
    assert run.actions == (SuspendChild(child=child, suspend=True),)
    run.child("inner").runs(suspended=True)
    run.tick(1)
    assert run.actions == ()
    run.change(suspend=False)
    run.tick(1)
    assert run.actions == (SuspendChild(child=child, suspend=False),)


@pytest.mark.rule("DAG-15", "CAN-8")
def test_cancel_works_while_suspended():
    """DAG-15: what runs is stopped, what waits is skipped."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a")))
    run.tick()
    run.child("a").runs()
    run.change(suspend=True)
    run.tick(1)
    run.cancel()
    run.tick(1)
    assert run.steps == {"a": "Running/Stopping", "b": "Skipped/RunCancelled"}
    assert run.actions[0] == StopChild(child=run.step("a").child, reason="Cancelled", deadline=at(60))
    assert (run.phase, run.condition("Suspended")) == ("Cancelling/Cancelling", "True/Suspended")


@pytest.mark.rule("DAG-15")
def test_a_suspended_run_whose_steps_have_all_ended_ends():
    """DAG-15: nothing is left that could start."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.child("a").succeeds()
    run.change(suspend=True)
    run.tick(1)
    assert (run.phase, run.condition("Suspended")) == ("Succeeded/Succeeded", None)
