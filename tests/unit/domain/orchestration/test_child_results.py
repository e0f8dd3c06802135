"""What a child's state means for its step (DAG-9, DAG-10, DAG-11, GC-2, GC-9)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from jangar.api.phases import OnJobMissing, Phase, StepPhase
from jangar.api.reasons import NEVER_RETRIED, Reason
from jangar.domain.orchestration.planning.child_results import (
    StepUpdate,
    fail_step,
    mark_stopping,
    transition,
)
from jangar.domain.orchestration.planning.observation import ChildRefused
from jangar.domain.orchestration.state import Attempt, Stop
from support.builders import NOON, a_child, at
from support.settled_steps import GONE, RUNNING, STARTED, a_step_that, settled, stopping, verdict


@pytest.mark.parametrize(
    ("child", "phase", "reason", "message"),
    [
        pytest.param(a_child("child", Phase.PENDING), "Pending", "Starting", "", id="pending"),
        pytest.param(
            a_child("child", Phase.PENDING, reason="ReferenceNotFound", message="no Tool x"),
            "Pending",
            "ReferenceNotFound",
            "no Tool x",
            id="pending-and-blocked",
        ),
        pytest.param(a_child("child"), "Running", "Running", "", id="running"),
        pytest.param(
            a_child("child", reason="PullingImage", message="10 %"),
            "Running",
            "PullingImage",
            "10 %",
            id="running-with-word",
        ),
        pytest.param(a_child("child", Phase.CANCELLING), "Running", "Running", "", id="cancelling"),
    ],
)
@pytest.mark.rule("DAG-2")
def test_a_step_shows_what_its_live_child_shows(child, phase, reason, message):
    """DAG-2: a step whose Tool is missing is Pending with the child's reason."""
    found = settled(STARTED, child)
    assert (*verdict(found), found.left_behind) == (f"{phase}/{reason}", message, False)
    assert found.state.child_uid == "uid-of-child"


@pytest.mark.rule("ST-4")
@pytest.mark.parametrize(
    ("state", "phase"),
    [
        pytest.param(STARTED, Phase.RUNNING, id="begins-to-run"),
        pytest.param(RUNNING, Phase.PENDING, id="waits-again"),
    ],
)
def test_a_step_notes_when_its_child_changed_phase(state, phase):
    """ST-4: the moment at which it was seen; nothing has ended."""
    found = settled(state, a_child("child", phase)).state
    assert (found.phase, found.last_transition_time, found.finished_at) == (str(phase), at(10), None)


@pytest.mark.rule("ST-3")
def test_a_child_that_shows_nothing_new_leaves_the_very_same_state():
    """ST-3: nothing to write."""
    assert settled(RUNNING, a_child("child")).state is RUNNING
    assert settled(RUNNING, None).state is RUNNING


@pytest.mark.rule("DAG-10")
@pytest.mark.parametrize(
    ("created", "expected"),
    [pytest.param(at(-3), NOON, id="before-the-record"), pytest.param(at(3), at(3), id="after-the-record")],
)
def test_time_counts_from_the_childs_creation_but_not_from_before_the_attempt(created, expected):
    """DAG-10: the API server's clock may be behind ours."""
    seen = settled(STARTED, a_child("child", created_at=created)).state
    assert seen.attempt_started_at == expected
    assert settled(
        replace(STARTED, attempt_started_at=None), a_child("child", created_at=created)
    ).state == replace(seen, attempt_started_at=created)


@pytest.mark.rule("DAG-10")
def test_times_come_from_the_first_observation_of_the_child_only():
    """DAG-10: a child that is seen again does not move the start."""
    assert settled(RUNNING, a_child("child", created_at=at(5))).state.attempt_started_at == NOON


@pytest.mark.rule("DAG-10")
@pytest.mark.parametrize(
    "child", [None, a_child("child"), a_child("child", Phase.PENDING)], ids=["unseen", "running", "waiting"]
)
def test_a_step_times_out_exactly_at_its_limit(child):
    """DAG-10: waiting included; the stop is announced with its own bound."""
    limit = timedelta(seconds=10)
    early = settled(RUNNING, child, now=at(9.999), timeout=limit).state
    assert early.stop is None
    found = settled(RUNNING, child, now=at(10), timeout=limit)
    message = "timed out after 10 s"
    expected = Stop(requested_at=at(10), reason="StepTimedOut", deadline=at(70), message=message)
    assert found.state.stop == expected
    assert (*verdict(found), found.left_behind) == ("Running/Stopping", f"stopping: {message}", False)


@pytest.mark.rule("DAG-10")
def test_a_timeout_keeps_the_cause_that_it_waited_for():
    """B8, E12: StepTimedOut says what the step was waiting for; what its work says of its end is added."""
    pulls = a_child("child", Phase.PENDING, reason="ImagePullBackOff", message="no such image")
    stopping = settled(RUNNING, pulls, now=at(10), timeout=timedelta(seconds=10)).state
    message = "stopped on request; container main ignored SIGTERM and was killed after 30 s"
    ended = settled(stopping, a_child("child", Phase.CANCELLED, message=message), now=at(41))
    assert verdict(ended) == (
        "Failed/StepTimedOut",
        (
            "timed out after 10 s while waiting for: ImagePullBackOff: no such image; "
            "container main ignored SIGTERM and was killed after 30 s"
        ),
    )


@pytest.mark.rule("DAG-10")
def test_the_runs_time_limit_keeps_the_cause_that_a_step_waited_for():
    """B8: the same where the run's own limit ends the wait."""
    waiting = replace(RUNNING, phase=StepPhase.PENDING, reason="ReferenceNotFound", message="no tool x")
    stop = Stop(requested_at=at(10), reason="RunTimedOut", deadline=at(70))
    ended = settled(mark_stopping(waiting, stop), a_child("child", Phase.CANCELLED), now=at(11))
    assert verdict(ended) == (
        "Failed/RunTimedOut",
        "stopped at the run's time limit while waiting for: ReferenceNotFound: no tool x",
    )


@pytest.mark.rule("DAG-10")
@pytest.mark.parametrize("limit", [None, timedelta(0)], ids=["none", "zero"])
def test_without_a_limit_nothing_times_out(limit):
    """DAG-10: unset or 0 is unbounded."""
    assert settled(RUNNING, None, now=at(1_000_000), timeout=limit).state is RUNNING


def test_a_step_whose_start_is_unknown_cannot_be_timed():
    """DAG-10: nothing to count from."""
    state = replace(RUNNING, attempt_started_at=None)
    assert settled(state, None, now=at(99), timeout=timedelta(seconds=1)).state is state


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("outputs", "defaults", "expected"),
    [
        pytest.param(None, {}, None, id="none"),
        pytest.param({}, {}, None, id="empty"),
        pytest.param({"x": "1"}, {}, {"x": "1"}, id="written"),
        pytest.param(None, {"x": "0"}, {"x": "0"}, id="default"),
        pytest.param({"x": "1"}, {"x": "0", "y": "2"}, {"x": "1", "y": "2"}, id="written-wins"),
    ],
)
def test_a_success_takes_the_childs_outputs_and_the_declared_defaults(outputs, defaults, expected):
    """DAG-11: a declared default stands in for an output that was not written."""
    child = a_child("child", Phase.SUCCEEDED, outputs=outputs, exit_code=0, message="done")
    found = settled(STARTED, child, output_defaults=defaults)
    assert found == StepUpdate(
        state=replace(
            STARTED,
            phase=StepPhase.SUCCEEDED,
            reason="Succeeded",
            message="done",
            child_uid="uid-of-child",
            finished_at=at(10),
            last_transition_time=at(10),
            exit_code=0,
            outputs=expected,
        )
    )


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize(
    ("reported", "message"),
    [
        pytest.param("", "the child was cancelled directly", id="own"),
        pytest.param("by ann", "by ann", id="childs"),
    ],
)
def test_a_child_cancelled_by_hand_cancels_its_step(reported, message):
    """DAG-7: never forgiven, never retried."""
    child = a_child("child", Phase.CANCELLED, message=reported)
    found = settled(RUNNING, child, retries=5, continue_on_failure=True)
    assert verdict(found) == ("Cancelled/ChildCancelled", message)
    assert not found.state.failure_ignored


@pytest.mark.rule("GC-9")
@pytest.mark.parametrize(
    "child", [GONE, a_child("child", Phase.CANCELLED, deleting=True)], ids=["gone", "ended-while-deleted"]
)
def test_a_child_deleted_by_others_fails_its_step(child):
    """GC-9: Failed/ChildDeleted, and not retried."""
    found = settled(RUNNING, child, retries=5)
    assert verdict(found) == ("Failed/ChildDeleted", "the child was deleted externally")


@pytest.mark.rule("GC-2")
def test_a_child_that_was_never_seen_is_not_missing():
    """GC-2: never created is created again under the same name; only an observed one can be lost."""
    assert settled(STARTED, GONE) == StepUpdate(state=STARTED)


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize(
    ("reason", "message"),
    [pytest.param("Forbidden", "Forbidden: no", id="word"), pytest.param("", "no", id="none")],
)
def test_a_refused_create_fails_the_step_for_good(reason, message):
    """DAG-9: what the API server refused once it refuses again."""
    found = settled(STARTED, ChildRefused(name="child", reason=reason, message="no"), retries=5)
    assert verdict(found) == ("Failed/StartRefused", message)


@pytest.mark.rule("DAG-9")
def test_a_failed_attempt_waits_for_its_next_one():
    """DAG-9: Retrying, with the ended attempt in the history."""
    child = a_child("child", Phase.FAILED, reason="NonZeroExit", message="exit 3", exit_code=3)
    earlier = Attempt(attempt=0, phase=StepPhase.FAILED, reason="Older")
    found = settled(
        replace(STARTED, attempts=(earlier,)), child, retries=1, retry_backoff=timedelta(seconds=5)
    )
    assert found.state == replace(
        STARTED,
        phase=StepPhase.RETRYING,
        reason="NonZeroExit",
        message="exit 3",
        child_uid="uid-of-child",
        last_transition_time=at(10),
        next_retry_at=at(15),
        exit_code=3,
        attempts=(
            earlier,
            Attempt(
                attempt=1,
                phase=StepPhase.FAILED,
                reason="NonZeroExit",
                message="exit 3",
                child="child",
                started_at=NOON,
                finished_at=at(10),
                exit_code=3,
            ),
        ),
    )


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize(
    ("own", "default", "attempt", "again"),
    [
        pytest.param(None, 0, 1, False, id="none"),
        pytest.param(1, 0, 1, True, id="first-of-two"),
        pytest.param(1, 0, 2, False, id="last-of-two"),
        pytest.param(2, 0, 2, True, id="second-of-three"),
        pytest.param(None, 1, 1, True, id="the-runs-default"),
        pytest.param(0, 1, 1, False, id="the-steps-own-zero-wins"),
    ],
)
def test_there_are_retries_plus_one_attempts(own, default, attempt, again):
    """DAG-9: attempts 1..retries+1; the step's own number wins over the policy's."""
    found = settled(
        replace(RUNNING, attempt=attempt),
        a_child("child", Phase.FAILED),
        retries=own,
        default_retries=default,
    )
    assert found.state.phase is (StepPhase.RETRYING if again else StepPhase.FAILED)


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize("reason", sorted(NEVER_RETRIED))
def test_failures_that_would_only_repeat_are_not_retried(reason):
    """DAG-9: InvalidSpec, MissingInput, a policy's denial, ..."""
    found = settled(RUNNING, a_child("child", Phase.FAILED, reason=reason), retries=5)
    assert verdict(found)[0] == f"Failed/{reason}"


@pytest.mark.rule("DAG-9")
def test_nothing_is_retried_once_the_run_is_being_stopped():
    """DAG-9: not retried: a cancel."""
    found = settled(RUNNING, a_child("child", Phase.FAILED), retries=5, retries_allowed=False)
    assert verdict(found) == ("Failed/ChildFailed", "")


@pytest.mark.rule("GC-2")
@pytest.mark.parametrize(
    ("policy", "phase"),
    [(OnJobMissing.FAIL, StepPhase.FAILED), (OnJobMissing.RETRY, StepPhase.RETRYING)],
    ids=str,
)
def test_a_missing_job_is_retried_only_if_the_policy_says_so(policy, phase):
    """GC-2: `Fail` by default, because agents have side effects."""
    child = a_child("child", Phase.FAILED, reason=Reason.WORKFLOW_JOB_MISSING)
    assert settled(RUNNING, child, retries=1, on_job_missing=policy).state.phase is phase


@pytest.mark.rule("DAG-10")
def test_a_timed_out_attempt_is_retried_like_any_other():
    """DAG-10: with its stop forgotten."""
    found = settled(stopping("StepTimedOut"), a_child("child", Phase.CANCELLED), retries=1)
    assert verdict(found) == ("Retrying/StepTimedOut", "stopped at its time limit")
    assert found.state.stop is None


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize("forgiven", [True, False], ids=["forgiven", "unforgiven"])
def test_a_step_that_failed_for_good_is_forgiven_if_it_says_so(forgiven):
    """DAG-7: and waits for nothing any more."""
    waiting = replace(RUNNING, phase=StepPhase.RETRYING, next_retry_at=at(20))
    step = a_step_that(continue_on_failure=forgiven)
    assert fail_step(step, waiting, "NonZeroExit", "exit 3", at(10)) == replace(
        waiting,
        phase=StepPhase.FAILED,
        reason="NonZeroExit",
        message="exit 3",
        finished_at=at(10),
        last_transition_time=at(10),
        failure_ignored=forgiven,
        next_retry_at=None,
    )


@pytest.mark.rule("ST-4")
def test_transitions_are_stamped_when_the_phase_changes_and_ends_when_it_ended():
    """ST-4: a new reason alone moves no time."""
    assert transition(RUNNING, at(9), StepPhase.RUNNING, "Other", "words") == replace(
        RUNNING, reason="Other", message="words"
    )
    assert transition(RUNNING, at(9), StepPhase.RETRYING, "Other") == replace(
        RUNNING, phase=StepPhase.RETRYING, reason="Other", last_transition_time=at(9)
    )
    assert transition(RUNNING, at(9), StepPhase.SKIPPED, "Other") == replace(
        RUNNING, phase=StepPhase.SKIPPED, reason="Other", last_transition_time=at(9), finished_at=at(9)
    )
