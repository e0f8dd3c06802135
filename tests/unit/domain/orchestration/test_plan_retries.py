"""Attempts and what is between them (DAG-9, GC-2, GC-9)."""

import pytest

from jangar.api.phases import StepPhase
from jangar.domain.orchestration.planning.actions import ConfirmChild, StartChild
from jangar.domain.orchestration.state import Attempt
from support.builders import NOON, a_definition, a_step, at
from support.run_driver import Driver


def a_run_of(**fields):
    run = Driver(a_definition(a_step("a", **fields), a_step("b", "a")))
    run.tick()
    return run


@pytest.mark.rule("DAG-9")
def test_a_failed_attempt_is_repeated_after_its_backoff():
    """DAG-9: fixed backoff, counted from the end of the attempt; exactly at that time."""
    run = a_run_of(retries=2, retryBackoffSeconds=30)
    first = run.step("a").child
    run.child("a").runs()
    run.tick(1)
    run.child("a").fails("NonZeroExit", "exit 3", exit_code=3)
    run.tick(1)
    assert (run.steps["a"], run.phase) == ("Retrying/NonZeroExit", "Running/Running")
    assert (run.actions, run.look_again_at) == ((), at(32))
    run.tick(29.999)
    assert (run.actions, run.look_again_at) == ((), at(32))
    run.tick(0.001)
    second = run.step("a")
    assert run.actions == (
        StartChild(step="a", kind=second.kind, attempt=2, child=second.child, parameters={}),
    )
    assert run.look_again_at is None
    assert (second.started_at, second.attempt_started_at) == (NOON, at(32))
    assert second.attempts == (
        Attempt(
            attempt=1,
            phase=StepPhase.FAILED,
            reason="NonZeroExit",
            message="exit 3",
            child=first,
            started_at=NOON,
            finished_at=at(2),
            exit_code=3,
        ),
    )
    assert second.child != first


@pytest.mark.rule("DAG-9")
def test_there_are_retries_plus_one_attempts_and_then_the_step_has_failed():
    """DAG-9: attempts 1..retries+1, each under its own name."""
    run = a_run_of(retries=2)
    names = []
    for _ in range(3):
        names.append(run.step("a").child)
        run.child("a").fails("NonZeroExit")
        run.tick(1)
    assert len(set(names)) == 3
    assert run.steps == {"a": "Failed/NonZeroExit", "b": "Skipped/DependencyFailed"}
    assert [attempt.attempt for attempt in run.step("a").attempts] == [1, 2]
    assert run.step("a").attempt == 3


@pytest.mark.rule("DAG-9")
def test_without_a_backoff_the_next_attempt_starts_in_the_same_pass():
    """DAG-9: retryBackoffSeconds is 0 by default."""
    run = a_run_of(retries=1)
    run.child("a").fails()
    run.tick(1)
    assert (run.starts, run.step("a").attempt) == (["a"], 2)


@pytest.mark.rule("DAG-9")
def test_the_policy_gives_retries_to_steps_that_say_nothing():
    """DAG-9: `policies.retries` is for steps that have none of their own."""
    run = Driver(a_definition(a_step("a"), a_step("b", retries=0), policies={"retries": 1}))
    run.tick()
    run.child("a").fails()
    run.child("b").fails()
    run.tick(1)
    assert run.steps == {"a": "Pending/Starting", "b": "Failed/ChildFailed"}


@pytest.mark.rule("DAG-9")
def test_a_retry_that_succeeds_makes_the_step_succeed():
    """DAG-9: the dependents start, and the failed attempt stays in the history."""
    run = a_run_of(retries=1)
    run.child("a").fails(exit_code=3)
    run.tick(1)
    assert run.step("a").exit_code is None
    run.child("a").succeeds(x="1")
    run.tick(1)
    assert run.steps == {"a": "Succeeded/Succeeded", "b": "Pending/Starting"}
    assert (len(run.step("a").attempts), run.step("a").outputs) == (1, {"x": "1"})
    assert run.condition("Degraded") == "False/NotDegraded"


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize("reason", ["InvalidSpec", "MissingInput", "PolicyDenied"])
def test_what_would_only_repeat_is_not_retried(reason):
    """DAG-9: not retried: InvalidSpec, MissingInput, a policy's denial."""
    run = a_run_of(retries=5)
    run.child("a").fails(reason)
    run.tick(1)
    assert run.steps["a"] == f"Failed/{reason}"


@pytest.mark.rule("DAG-9")
def test_a_child_cancelled_by_hand_is_not_retried():
    """DAG-7, DAG-9: never forgiven, never retried."""
    run = a_run_of(retries=5, continueOnFailure=True)
    run.child("a").ends_cancelled()
    run.tick(1)
    assert run.steps == {"a": "Cancelled/ChildCancelled", "b": "Skipped/DependencyFailed"}


@pytest.mark.rule("GC-9")
def test_a_child_deleted_by_others_fails_its_step_once_a_live_read_has_confirmed_it():
    """GC-2, GC-9: a stale cache never confirms a miss."""
    run = a_run_of(retries=5)
    run.child("a").runs()
    run.tick(1)
    run.child("a").is_not_in_the_cache()
    run.tick(1)
    assert run.steps["a"] == "Running/Running"
    assert run.actions == (ConfirmChild(step="a", child=run.step("a").child),)
    run.child("a").is_gone()
    run.tick(1)
    assert run.steps["a"] == "Failed/ChildDeleted"
    assert run.actions == ()


@pytest.mark.rule("GC-2")
def test_a_child_that_was_never_created_is_created_again_under_the_same_name():
    """GC-2, DAG-9: so a second create collides with the first."""
    run = a_run_of()
    wanted = run.actions
    run.child("a").is_gone()
    run.tick(1)
    assert (run.actions, run.steps["a"]) == (wanted, "Pending/Starting")


@pytest.mark.rule("DAG-9")
def test_a_refused_create_fails_the_step():
    """DAG-9: a create that was refused for good is refused again."""
    run = a_run_of(retries=5)
    run.child("a").is_refused("Forbidden", "quota")
    run.tick(1)
    assert (run.steps["a"], run.step("a").message) == ("Failed/StartRefused", "Forbidden: quota")


@pytest.mark.rule("GC-2")
@pytest.mark.parametrize(
    ("policy", "expected"), [("Fail", "Failed/WorkflowJobMissing"), ("Retry", "Pending/Starting")], ids=str
)
def test_a_lost_job_is_repeated_only_if_the_policy_says_so(policy, expected):
    """GC-2: the onJobMissing policy of the step."""
    run = a_run_of(retries=1, onJobMissing=policy)
    run.child("a").fails("WorkflowJobMissing")
    run.tick(1)
    assert run.steps["a"] == expected


@pytest.mark.rule("DAG-9")
def test_several_retries_wait_for_their_own_times():
    """DAG-9: the earliest is looked at first."""
    run = Driver(
        a_definition(
            a_step("a", retries=1, retryBackoffSeconds=20), a_step("b", retries=1, retryBackoffSeconds=10)
        )
    )
    run.tick()
    run.child("a").fails()
    run.child("b").fails()
    run.tick(1)
    assert run.look_again_at == at(11)
    run.tick(10)
    assert (run.starts, run.look_again_at) == (["b"], at(21))
    run.tick(10)
    assert (run.starts, run.look_again_at) == (["a", "b"], None)
