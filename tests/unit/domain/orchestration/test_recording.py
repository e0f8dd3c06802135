"""The record after a pass: lifecycle and conditions from a verdict (ST-2, ST-3, ST-4, CAN-7, CAN-9, DAG-15)."""

from dataclasses import replace

import pytest

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Accepted, Cancel, Ignored, NotRequested
from jangar.domain.orchestration.planning.outcome import Verdict, with_verdict
from jangar.domain.orchestration.state import RunRecord
from support.builders import NOON, a_definition, a_run, a_step, an_observation, at

DEFINITION = a_definition(a_step("a"))
NO_ONE = NotRequested()
CANCEL = Cancel(requested_at=NOON, deadline=at(60))
RUNNING = Verdict(phase=Phase.RUNNING, reason="Running")
SUCCEEDED = Verdict(phase=Phase.SUCCEEDED, reason="Succeeded")
FAILED = Verdict(phase=Phase.FAILED, reason="StepFailed", message="step a failed")
CANCELLED = Verdict(phase=Phase.CANCELLED, reason="Cancelled")


def recorded(verdict, decision=NO_ONE, *, old=None, run=None, now=NOON, **facts):
    before = old or RunRecord()
    observation = an_observation(DEFINITION, recorded=before, run=run)
    return with_verdict(before, observation, verdict, decision, now=now, **facts)


def conditions(record):
    return {item.type: f"{item.status}/{item.reason}" for item in record.lifecycle.conditions}


def condition(record, kind):
    return next(item for item in record.lifecycle.conditions if item.type == kind)


@pytest.mark.rule("ST-5")
def test_a_verdict_becomes_phase_reason_message_and_six_conditions():
    """ST-5: the row of the table."""
    record = recorded(FAILED, now=at(1), started=True)
    life = record.lifecycle
    assert (life.phase, life.reason, life.message) == (Phase.FAILED, "StepFailed", "step a failed")
    assert (life.started_at, life.finished_at, life.updated_at) == (at(1), at(1), at(1))
    assert type(life.reason) is str
    assert conditions(record) == {
        "Ready": "False/StepFailed",
        "Progressing": "False/Finished",
        "Degraded": "True/StepFailed",
        "Succeeded": "False/StepFailed",
        "Failed": "True/StepFailed",
        "Cancelled": "False/NotCancelled",
    }
    assert condition(record, "Failed").message == "step a failed"


@pytest.mark.rule("ST-5")
@pytest.mark.parametrize(
    ("verdict", "facts", "kind", "expected"),
    [
        pytest.param(RUNNING, {}, "Degraded", "False/NotDegraded", id="healthy"),
        pytest.param(RUNNING, {"unforgiven": True}, "Degraded", "True/StepFailed", id="a-step-has-failed"),
        pytest.param(
            Verdict(phase=Phase.PENDING, reason="ReferenceNotFound", blocked=True),
            {},
            "Ready",
            "False/ReferenceNotFound",
            id="blocked",
        ),
        pytest.param(
            Verdict(phase=Phase.PENDING, reason="Pending"), {}, "Ready", "Unknown/Pending", id="waiting"
        ),
        pytest.param(
            Verdict(phase=Phase.CANCELLED, reason="CancelTimedOut"),
            {},
            "Cancelled",
            "True/CancelTimedOut",
            id="cancel-timed-out",
        ),
        pytest.param(
            Verdict(phase=Phase.CANCELLED, reason="Cancelled"),
            {},
            "Cancelled",
            "True/Cancelled",
            id="cancelled",
        ),
    ],
)
def test_each_fact_reaches_its_condition(verdict, facts, kind, expected):
    """ST-5: what the table says in brackets."""
    assert conditions(recorded(verdict, **facts))[kind] == expected


@pytest.mark.rule("ST-3")
def test_nothing_new_gives_back_the_very_record():
    """ST-3: a write happens only when something other than updatedAt differs."""
    first = recorded(RUNNING, started=True)
    assert recorded(RUNNING, old=first, now=at(100), started=True) is first


@pytest.mark.rule("ST-3")
def test_a_change_outside_the_lifecycle_moves_updated_at():
    """ST-3: updatedAt changes on every status write."""
    first = recorded(RUNNING, started=True)
    observation = an_observation(DEFINITION, recorded=first)
    changed = replace(first, outputs={"x": "1"})
    again = with_verdict(changed, observation, RUNNING, NO_ONE, now=at(7), started=True)
    assert again == replace(changed, lifecycle=replace(first.lifecycle, updated_at=at(7)))


@pytest.mark.rule("ST-2")
def test_the_generation_of_the_spec_is_recorded():
    """ST-2: also for conditions."""
    record = recorded(RUNNING, run=a_run(generation=7))
    assert record.lifecycle.observed_generation == 7
    assert condition(record, "Ready").observed_generation == 7


@pytest.mark.rule("ST-4")
def test_times_of_the_run_follow_start_and_children():
    """ST-4: finishedAt is never before a child's; startedAt is set for work that ran."""
    record = recorded(SUCCEEDED, now=at(1), started=True, children_finished_at=at(5))
    assert (record.lifecycle.started_at, record.lifecycle.finished_at) == (at(1), at(5))
    assert recorded(SUCCEEDED, now=at(1)).lifecycle.started_at is None


@pytest.mark.rule("DAG-15")
@pytest.mark.parametrize(
    ("verdict", "suspend", "expected"),
    [
        pytest.param(RUNNING, False, None, id="not-suspended-is-not-mentioned"),
        pytest.param(RUNNING, True, "True/Suspended", id="suspended"),
        pytest.param(SUCCEEDED, True, None, id="a-finished-run-is-not-suspended"),
    ],
)
def test_the_suspended_condition_is_there_while_it_holds(verdict, suspend, expected):
    """DAG-15: condition Suspended=True."""
    record = recorded(verdict, run=a_run(suspend=suspend))
    assert conditions(record).get("Suspended") == expected


@pytest.mark.rule("DAG-15", "ST-5")
@pytest.mark.parametrize("verdict", [RUNNING, SUCCEEDED], ids=["resumed", "ended"])
def test_a_suspension_that_no_longer_holds_is_set_false(verdict):
    """ST-5: a condition that no longer holds is set False, not left True."""
    held = recorded(RUNNING, run=a_run(suspend=True))
    assert condition(held, "Suspended").message == "nothing new starts until spec.suspend is false"
    over = recorded(verdict, old=held, run=a_run(suspend=verdict is SUCCEEDED), now=at(3))
    assert conditions(over)["Suspended"] == "False/NotSuspended"


@pytest.mark.rule("DAG-15", "ST-5")
def test_a_pending_run_that_is_suspended_does_not_progress():
    """ST-5: Progressing is False if suspended."""
    record = recorded(Verdict(phase=Phase.PENDING, reason="Suspended"), run=a_run(suspend=True))
    assert conditions(record)["Progressing"] == "False/Suspended"


@pytest.mark.rule("CAN-7", "CAN-9", "DAG-7")
@pytest.mark.parametrize(
    ("verdict", "decision", "expected"),
    [
        pytest.param(RUNNING, NO_ONE, None, id="no-requester"),
        pytest.param(
            RUNNING, Ignored(reason=Reason.CANCEL_DISABLED), "True/CancelDisabled", id="switched-off"
        ),
        pytest.param(RUNNING, Accepted(cancel=CANCEL), None, id="under-way"),
        pytest.param(SUCCEEDED, Accepted(cancel=CANCEL), "True/AlreadySucceeded", id="cut-nothing"),
        pytest.param(FAILED, Accepted(cancel=CANCEL), "True/AlreadyFailed", id="failed-before"),
        pytest.param(CANCELLED, Accepted(cancel=CANCEL), None, id="cancelled"),
        pytest.param(
            CANCELLED,
            Accepted(cancel=CANCEL, ignored=Reason.ALREADY_CANCELLED),
            "True/AlreadyCancelled",
            id="asked-again",
        ),
    ],
)
def test_a_cancel_that_changed_nothing_says_so(verdict, decision, expected):
    """CAN-7, DAG-7: it came too late, cut nothing, or is switched off."""
    assert conditions(recorded(verdict, decision)).get("CancelIgnored") == expected


@pytest.mark.rule("CAN-9", "ST-5")
def test_switched_on_again_the_ignored_request_is_no_longer_called_ignored():
    """CAN-9: pending requests are acted on."""
    off = recorded(RUNNING, Ignored(reason=Reason.CANCEL_DISABLED))
    on = recorded(
        Verdict(phase=Phase.CANCELLING, reason="Cancelling"), Accepted(cancel=CANCEL), old=off, now=at(9)
    )
    assert conditions(on)["CancelIgnored"] == "False/Cancelling"


@pytest.mark.rule("CAN-7", "ST-3")
def test_a_finished_run_keeps_saying_that_a_cancel_was_ignored():
    """CAN-7: the condition stays, and costs no write."""
    ended = recorded(SUCCEEDED, Accepted(cancel=CANCEL))
    assert recorded(SUCCEEDED, Accepted(cancel=CANCEL), old=ended, now=at(9)) is ended


@pytest.mark.rule("CAN-7")
def test_a_run_that_ended_without_saying_so_is_not_reported_later():
    """CAN-7: whether a cancel cut anything is decided in the pass in which the run ends."""
    ended = recorded(FAILED)
    assert recorded(FAILED, Accepted(cancel=CANCEL), old=ended, now=at(9)) is ended
