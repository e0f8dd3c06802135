"""Failures, retries and time limits with real work."""

from datetime import datetime

import pytest

from contract.engine.engine_namespace import OK, step


def seconds_between(earlier, later):
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


@pytest.mark.rule("DAG-5", "DAG-6", "DAG-7")
def test_a_failure_skips_only_its_dependents(namespace):
    """Dependents are Skipped with their cause, other branches continue, and the run is Failed."""
    run = namespace.run_of(
        [
            step("bad", "bad", []),
            step("after", after=["bad"]),
            step("later", after=["after"]),
            step("other", after=[]),
            step("further", after=["other"]),
        ]
    )
    status = run.ends("Failed")
    assert run.phases() == {
        "bad": "Failed",
        "after": "Skipped",
        "later": "Skipped",
        "other": "Succeeded",
        "further": "Succeeded",
    }
    steps = run.steps
    assert steps["bad"]["exitCode"] == 3
    assert steps["after"]["reason"] == "DependencyFailed"
    assert steps["later"]["causes"] == ["bad"]
    assert {name: status["counts"][name] for name in ("succeeded", "failed", "skipped")} == {
        "succeeded": 2,
        "failed": 1,
        "skipped": 2,
    }
    assert run.condition("Failed")["status"] == "True"
    namespace.await_executions(bad=1, other=1, further=1)


@pytest.mark.rule("DAG-4", "DAG-7")
def test_with_continue_on_failure_dependents_start_and_the_run_succeeds(namespace):
    """`continueOnFailure` ignores that step's own failure."""
    run = namespace.run_of([step("lint", "bad", continueOnFailure=True), step("build")])
    status = run.ends("Succeeded")
    assert run.phases() == {"lint": "Failed", "build": "Succeeded"}
    assert run.steps["lint"]["failureIgnored"] is True
    assert status["counts"]["ignored"] == 1


@pytest.mark.rule("DAG-6")
def test_fail_fast_starts_nothing_new_and_lets_running_steps_finish(namespace):
    """After the first failure that counts, steps that could start are Skipped with reason FailFast."""
    namespace.tool("slow", "sleep 2")
    run = namespace.run_of(
        [
            step("slow", "slow", []),
            step("bad", "bad", []),
            step("after-slow", after=["slow"]),
        ],
        policies={"failFast": True},
    )
    run.ends("Failed")
    assert run.phases() == {"slow": "Succeeded", "bad": "Failed", "after-slow": "Skipped"}
    assert run.reasons()["after-slow"] == "FailFast"
    namespace.await_executions(slow=1, bad=1)


@pytest.mark.rule("DAG-9")
def test_a_failed_attempt_is_retried_after_its_backoff(namespace):
    """Three attempts, a second between the end of one and the start of the next, each one's end recorded."""
    run = namespace.run_of([step("flaky", "bad", retries=2, retryBackoffSeconds=1)])
    run.ends("Failed", seconds=namespace.bed.patience * 2)
    flaky = run.steps["flaky"]
    assert flaky["attempt"] == 3
    assert [attempt["attempt"] for attempt in flaky["attempts"]] == [1, 2]
    starts = [*(attempt["startedAt"] for attempt in flaky["attempts"]), flaky["attemptStartedAt"]]
    for ended, following in zip(flaky["attempts"], starts[1:], strict=True):
        assert seconds_between(ended["finishedAt"], following) >= 1
    namespace.await_executions(flaky=3)


@pytest.mark.rule("DAG-3", "DAG-9")
def test_every_attempt_reads_the_tool_again(namespace):
    """A tool that is fixed while its step waits to retry is used by the next attempt."""
    namespace.tool("broken", "exit 1")
    run = namespace.run_of([step("mend", "broken", retries=1, retryBackoffSeconds=2)])
    run.reaches(mend="Retrying")
    namespace.change_tool("broken", OK)
    run.ends("Succeeded")
    namespace.await_executions(mend=2)


@pytest.mark.rule("DAG-10", "CAN-4", "CAN-7")
def test_a_step_that_takes_too_long_is_stopped(namespace):
    """`timeoutSeconds` fires by itself, stops the work and is a failure with reason StepTimedOut."""
    limit = 3
    run = namespace.run_of([step("slow", "forever", timeoutSeconds=limit), step("after")])
    run.ends("Failed")
    slow = run.steps["slow"]
    assert slow["reason"] == "StepTimedOut"
    assert run.reasons()["after"] == "DependencyFailed"
    assert limit - 1 <= seconds_between(slow["startedAt"], slow["finishedAt"]) < limit + 10


@pytest.mark.rule("DAG-7", "DAG-10")
def test_a_run_that_takes_too_long_is_stopped(namespace):
    """The time limit of the run stops running steps and skips the others."""
    run = namespace.run_of(
        [step("slow", "forever"), step("after")], policies={"timeouts": {"totalSeconds": 5}}
    )
    status = run.ends("Failed")
    assert status["reason"] == "RunTimedOut"
    assert run.reasons() == {"slow": "RunTimedOut", "after": "RunTimedOut"}
    assert run.phases()["after"] == "Skipped"
