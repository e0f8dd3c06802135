"""The phase of a run as a fold over all its steps (DAG-7)."""

from dataclasses import replace

import pytest

from jangar.api.phases import Phase, StepPhase
from jangar.domain.orchestration.planning.initial import initial_states
from jangar.domain.orchestration.planning.outcome import RunControls, Verdict, run_verdict
from jangar.domain.orchestration.planning.progress import Progress
from support.builders import NOON, a_definition, a_step

S, F, X = StepPhase.SUCCEEDED, StepPhase.FAILED, StepPhase.CANCELLED
OK = (S, "Succeeded")
BROKEN = (F, "NonZeroExit", "exit 3")
FORGIVEN = (F, "NonZeroExit", "exit 3", True)
CUT = (X, "RunCancelled")
LATE = (X, "CancelTimedOut")
NEVER = (StepPhase.SKIPPED, "RunCancelled")
BY_HAND = (X, "ChildCancelled")
RUNS = (StepPhase.RUNNING, "Running")


def progress(*ends):
    names = [f"s{index}" for index in range(len(ends))]
    definition = a_definition(*(a_step(name) for name in names))
    states = [
        replace(
            state,
            phase=phase,
            reason=reason,
            message=more[0] if more else "",
            failure_ignored=len(more) > 1,
            attempt=1,
        )
        for state, (phase, reason, *more) in zip(initial_states(definition, {}, NOON), ends, strict=True)
    ]
    return Progress(definition, states)


def verdict(*ends, started=True, **controls):
    return run_verdict(progress(*ends), RunControls(**controls), started=started)


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize(
    ("started", "controls", "expected"),
    [
        pytest.param(True, {}, Verdict(phase=Phase.RUNNING, reason="Running"), id="running"),
        pytest.param(False, {}, Verdict(phase=Phase.PENDING, reason="Pending"), id="nothing-started"),
        pytest.param(
            True,
            {"cancelled": True, "timed_out": True, "suspended": True},
            Verdict(phase=Phase.CANCELLING, reason="Cancelling", message="waiting for running work to stop"),
            id="cancel-accepted",
        ),
        pytest.param(
            True,
            {"timed_out": True, "suspended": True},
            Verdict(phase=Phase.RUNNING, reason="Stopping", message="the run reached its time limit"),
            id="time-limit-fired",
        ),
        pytest.param(
            True,
            {"suspended": True},
            Verdict(
                phase=Phase.RUNNING,
                reason="Suspended",
                message="nothing new starts until spec.suspend is false",
            ),
            id="suspended",
        ),
        pytest.param(
            False,
            {"suspended": True},
            Verdict(
                phase=Phase.PENDING,
                reason="Suspended",
                message="nothing new starts until spec.suspend is false",
            ),
            id="suspended-from-the-start",
        ),
    ],
)
def test_a_run_with_unended_steps(started, controls, expected):
    """DAG-7: Pending, Cancelling, else Running."""
    assert verdict(OK, RUNS, started=started, **controls) == expected


@pytest.mark.rule("CAN-2")
def test_a_cancelled_run_is_held_until_its_children_were_looked_for():
    """CAN-2: every step has ended, and one child may still be on the wire."""
    assert verdict(CUT, cancelled=True, held=True).phase is Phase.CANCELLING
    assert verdict(CUT, cancelled=True).phase is Phase.CANCELLED


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize(
    ("ends", "controls", "expected"),
    [
        pytest.param([OK, OK], {}, "Succeeded/Succeeded", id="all-good"),
        pytest.param([OK, BROKEN], {}, "Failed/StepFailed", id="one-failed"),
        pytest.param([OK, FORGIVEN], {}, "Succeeded/Succeeded", id="one-forgiven"),
        pytest.param([OK, BY_HAND], {}, "Failed/StepFailed", id="child-cancelled-by-hand"),
        pytest.param([OK, CUT], {"cancelled": True}, "Cancelled/Cancelled", id="cut-by-the-cancel"),
        pytest.param([OK, NEVER], {"cancelled": True}, "Cancelled/Cancelled", id="kept-from-starting"),
        pytest.param(
            [BROKEN, CUT], {"cancelled": True}, "Cancelled/Cancelled", id="cancel-wins-over-failure"
        ),
        pytest.param([LATE, CUT], {"cancelled": True}, "Cancelled/CancelTimedOut", id="left-behind"),
        pytest.param([OK], {"cancelled": True}, "Succeeded/Succeeded", id="cancel-came-too-late"),
        pytest.param([BROKEN], {"cancelled": True}, "Failed/StepFailed", id="cancel-cut-nothing"),
        pytest.param(
            [BY_HAND], {"cancelled": True}, "Failed/StepFailed", id="by-hand-is-not-the-runs-cancel"
        ),
        pytest.param([OK], {"timed_out": True}, "Failed/RunTimedOut", id="time-limit"),
        pytest.param([CUT], {"timed_out": True, "cancelled": True}, "Failed/RunTimedOut", id="time-wins"),
        pytest.param([OK], {"suspended": True}, "Succeeded/Succeeded", id="suspended-and-all-ended"),
    ],
)
def test_a_run_whose_steps_have_all_ended(ends, controls, expected):
    """DAG-7: run timeout, else cancel that cut, else unforgiven failure, else Succeeded."""
    found = verdict(*ends, **controls)
    assert f"{found.phase}/{found.reason}" == expected
    assert not found.blocked


@pytest.mark.rule("DAG-7")
@pytest.mark.parametrize(
    ("ends", "controls", "message"),
    [
        pytest.param([OK], {}, "", id="success"),
        pytest.param([FORGIVEN], {}, "1 failed step ignored because of continueOnFailure", id="one-forgiven"),
        pytest.param(
            [FORGIVEN] * 2, {}, "2 failed steps ignored because of continueOnFailure", id="two-forgiven"
        ),
        pytest.param([BROKEN], {}, "step s0 failed: NonZeroExit (exit 3)", id="failure"),
        pytest.param([OK, BY_HAND], {}, "step s1 cancelled: ChildCancelled", id="without-a-message"),
        pytest.param(
            [BROKEN, OK, BY_HAND, BROKEN],
            {},
            "step s0 failed: NonZeroExit (exit 3); step s2 cancelled: ChildCancelled; "
            "step s3 failed: NonZeroExit (exit 3)",
            id="three-failures",
        ),
        pytest.param(
            [BY_HAND] * 5,
            {},
            "step s0 cancelled: ChildCancelled; step s1 cancelled: ChildCancelled; "
            "step s2 cancelled: ChildCancelled; and 2 more",
            id="five-failures",
        ),
        pytest.param([OK], {"timed_out": True}, "the run reached its time limit", id="timeout"),
        pytest.param(
            [OK, CUT, NEVER],
            {"cancelled": True},
            "cancelled; 2 of 3 steps were interrupted or never started",
            id="cancelled",
        ),
        pytest.param(
            [OK, LATE],
            {"cancelled": True},
            "cancelled; 1 of 2 steps were interrupted or never started; "
            "some work may still be running, see status.cancel.leftBehind",
            id="left-behind",
        ),
    ],
)
def test_the_message_says_what_happened(ends, controls, message):
    """DAG-7: the first few in list order, and how many more."""
    assert verdict(*ends, **controls).message == message
