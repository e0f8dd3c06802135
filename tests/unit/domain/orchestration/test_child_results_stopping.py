"""How an attempt ends that is being stopped (CAN-4, CAN-6, CAN-7)."""

from dataclasses import replace

import pytest

from jangar.api.phases import OnJobMissing, Phase, StepPhase
from jangar.domain.orchestration.planning.child_results import StepUpdate, mark_stopping
from jangar.domain.orchestration.planning.observation import ChildRefused
from jangar.domain.orchestration.state import Stop
from support.builders import a_child, at
from support.settled_steps import GONE, STARTED, settled, stopping, verdict


@pytest.mark.rule("CAN-4")
def test_a_stop_is_announced_as_running_and_stopping():
    """CAN-4: `status.stop` is written first; a step being stopped stays Running."""
    stop = Stop(requested_at=at(1), reason="Cancelled", deadline=at(61))
    assert mark_stopping(STARTED, stop) == replace(
        STARTED,
        phase=StepPhase.RUNNING,
        reason="Stopping",
        message="stopping: Cancelled",
        last_transition_time=at(1),
        stop=stop,
    )


@pytest.mark.rule("CAN-4")
def test_the_first_stop_stays_in_force():
    """CAN-4: what was announced does not move."""
    first = stopping("StepTimedOut")
    assert mark_stopping(first, Stop(requested_at=at(5), reason="Cancelled", deadline=at(65))) is first


@pytest.mark.rule("CAN-6")
def test_a_later_stop_can_only_bring_the_deadline_nearer():
    """CAN-6: the bound of the run holds for a step that was being stopped already."""
    first = stopping("StepTimedOut", deadline=at(60))
    nearer = mark_stopping(first, Stop(requested_at=at(5), reason="Cancelled", deadline=at(59.999)))
    assert nearer == replace(first, stop=replace(first.stop, deadline=at(59.999)))
    assert mark_stopping(first, Stop(requested_at=at(5), reason="Cancelled", deadline=at(60))) is first


@pytest.mark.rule("CAN-4")
def test_a_stopping_step_does_not_show_its_childs_words():
    """CAN-4: it says Stopping until it has ended."""
    state = stopping("Cancelled", state=STARTED)
    found = settled(state, a_child("child", Phase.PENDING, reason="Other", message="words")).state
    assert found == replace(state, child_uid="uid-of-child")


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize("reason", ["Cancelled", "StepTimedOut", "RunTimedOut"])
def test_a_child_that_succeeded_before_the_stop_keeps_its_success(reason):
    """CAN-7: truth before order; the child itself knows when its containers ended."""
    found = settled(stopping(reason), a_child("child", Phase.SUCCEEDED))
    assert verdict(found) == ("Succeeded/Succeeded", "")
    assert found.state.stop is None


@pytest.mark.rule("CAN-7")
def test_a_child_that_failed_before_the_stop_keeps_its_failure():
    """CAN-7: its own reason, not the stop's."""
    found = settled(stopping("Cancelled"), a_child("child", Phase.FAILED, reason="OOMKilled", message="137"))
    assert verdict(found) == ("Failed/OOMKilled", "137")


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(a_child("child", Phase.CANCELLED, deleting=True), id="child-cancelled"),
        pytest.param(GONE, id="child-gone"),
        pytest.param(ChildRefused(name="child", reason="Forbidden", message="no"), id="child-refused"),
    ],
)
@pytest.mark.parametrize(
    ("reason", "expected", "message"),
    [
        pytest.param("Cancelled", "Cancelled/RunCancelled", "", id="cancel"),
        pytest.param("StepTimedOut", "Failed/StepTimedOut", "stopped at its time limit", id="step-timeout"),
        pytest.param(
            "RunTimedOut", "Failed/RunTimedOut", "stopped at the run's time limit", id="run-timeout"
        ),
    ],
)
def test_a_stopped_attempt_ends_as_what_stopped_it(reason, expected, message, end):
    """CAN-7: never a success; cancel -> Cancelled, timeout -> Failed/StepTimedOut."""
    found = settled(stopping(reason), end)
    assert (*verdict(found), found.left_behind) == (expected, message, False)


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize(
    ("reason", "now", "expected"),
    [
        pytest.param("StepTimedOut", at(59.999), "Running/Stopping", id="timeout-before-the-deadline"),
        pytest.param("StepTimedOut", at(60), "Retrying/StepTimedOut", id="timeout-at-the-deadline"),
        pytest.param("Cancelled", at(2), "Cancelled/RunCancelled", id="cancel"),
        pytest.param("RunTimedOut", at(2), "Retrying/RunTimedOut", id="run-timeout"),
    ],
)
def test_a_child_that_was_never_seen_may_still_arrive_before_a_retry(reason, now, expected):
    """DAG-9: a new attempt only after the previous one's work is known to have ended."""
    found = settled(stopping(reason, state=STARTED), GONE, now=now, retries=1)
    assert (verdict(found)[0], found.left_behind) == (expected, False)


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize("child", [None, a_child("child", stop_requested=True)], ids=["unseen", "running"])
@pytest.mark.parametrize(
    ("reason", "expected", "message"),
    [
        pytest.param(
            "Cancelled",
            "Cancelled/CancelTimedOut",
            "its work did not stop by the deadline and may still be running",
            id="cancel",
        ),
        pytest.param(
            "StepTimedOut",
            "Failed/StepTimedOut",
            "stopped at its time limit; its work did not stop by the deadline and may still be running",
            id="step-timeout",
        ),
        pytest.param(
            "RunTimedOut",
            "Failed/RunTimedOut",
            "stopped at the run's time limit; its work did not stop by the deadline and may still be running",
            id="run-timeout",
        ),
    ],
)
def test_past_the_bound_the_attempt_ends_and_its_child_is_left_behind(reason, expected, message, child):
    """CAN-6: exactly at the deadline, not a millisecond before, and not retried over it."""
    state = stopping(reason, deadline=at(60))
    assert settled(state, child, now=at(59.999), retries=5) == StepUpdate(state=state)
    found = settled(state, child, now=at(60), retries=5)
    assert (*verdict(found), found.left_behind) == (expected, message, True)


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("reason", "phase", "expected"),
    [
        pytest.param("Cancelled", Phase.CANCELLED, "Cancelled/CancelTimedOut", id="cancel"),
        pytest.param("StepTimedOut", Phase.CANCELLED, "Failed/StepTimedOut", id="timeout"),
        pytest.param("StepTimedOut", Phase.FAILED, "Failed/NonZeroExit", id="failed"),
    ],
)
def test_work_that_a_child_left_behind_is_left_behind_by_the_step(reason, phase, expected):
    """CAN-6: the child gave up two seconds before; what may still run is listed and not retried over."""
    child = a_child("child", phase, reason="NonZeroExit", left_behind=True)
    found = settled(stopping(reason), child, retries=5)
    assert (verdict(found)[0], found.left_behind) == (expected, True)


@pytest.mark.rule("CAN-6")
def test_work_left_behind_is_retried_over_only_if_the_policy_says_so():
    """CAN-6: nothing is retried over it unless `onJobMissing: Retry`."""
    state = stopping("StepTimedOut", deadline=at(10))
    found = settled(state, None, retries=1, on_job_missing=OnJobMissing.RETRY)
    assert (found.state.phase, found.left_behind) == (StepPhase.RETRYING, True)
    kept = settled(state, None, retries=1, on_job_missing=OnJobMissing.FAIL)
    assert kept.state.phase is StepPhase.FAILED


@pytest.mark.rule("CAN-7", "DAG-11")
def test_a_cancelled_step_shows_what_its_child_had_written():
    """Of a cancel of the run or of the child alone; a step that timed out and may be repeated shows nothing."""
    child = a_child("child", Phase.CANCELLED, outputs={"half": "done"})
    assert settled(stopping("Cancelled"), child).state.outputs == {"half": "done"}
    assert settled(STARTED, child).state.outputs == {"half": "done"}
    assert settled(stopping("StepTimedOut"), child).state.outputs is None
