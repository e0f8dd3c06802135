"""What is written of a verdict, how seldom, and what people read."""

from datetime import UTC, datetime

import pytest

from jangar.api.phases import AdmissionPhase
from jangar.api.reasons import Reason
from jangar.domain.policies.verdicts import (
    Allow,
    Deny,
    Hold,
    Recorded,
    displayed_position,
    explain_admission,
    record,
    recorded_from,
    recorded_to,
)

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)


def held(position, reason=Reason.CONCURRENCY_LIMIT):
    return Hold(reason=reason, message=f"because of {reason}", position=position)


def test_an_admission_is_written_with_its_time():
    """The time that rates count by; one that had started before was admitted at none."""
    assert recorded_to(record(None, Allow(), NOON)) == {
        "phase": "Admitted",
        "reason": "WithinLimits",
        "admittedAt": "2026-02-07T12:00:00Z",
    }
    assert record(None, Allow(reason=Reason.ALREADY_STARTED), NOON).admitted_at is None


@pytest.mark.parametrize("phase", [AdmissionPhase.ADMITTED, AdmissionPhase.DENIED])
def test_what_was_decided_for_good_stays(phase):
    """Whatever a later pass says."""
    old = Recorded(phase=phase, reason="X")
    for verdict in (Allow(), Deny(reason=Reason.SECRET_BLOCKED, message="no"), held(1)):
        assert record(old, verdict, NOON) is old


def test_the_first_of_a_thousand_leaving_is_reported_to_ten():
    """Places are rounded up to 1, 2, 5, 10, 20 and so on."""
    reported = [record(None, held(place), NOON) for place in range(1, 1001)]
    moved = [record(old, held(place), NOON) for place, old in enumerate(reported)][1:]
    assert sum(new != old for new, old in zip(moved, reported[1:], strict=True)) == 9
    assert [displayed_position(item) for item in (1, 2, 3, 10, 11, 51, 999)] == [1, 2, 5, 10, 20, 100, 1000]


def test_another_limit_is_reported_at_the_front_at_once_and_behind_with_the_next_place():
    """A limit that changes to and fro costs ten writes, not a thousand."""
    front, back = record(None, held(3), NOON), record(None, held(30), NOON)
    assert record(front, held(3, Reason.RATE_LIMIT), NOON).reason is Reason.RATE_LIMIT
    assert record(back, held(30, Reason.RATE_LIMIT), NOON) is back
    assert record(back, held(20, Reason.RATE_LIMIT), NOON).reason is Reason.RATE_LIMIT
    assert record(back, held(None, Reason.QUEUE_LIMIT), NOON).position is None
    unplaced = record(None, held(None, Reason.SUSPENDED), NOON)
    assert record(unplaced, held(None, Reason.REFERENCE_NOT_FOUND), NOON) != unplaced


@pytest.mark.parametrize(
    "verdict", [Allow(), Deny(reason=Reason.SECRET_BLOCKED, message="no"), held(7), held(None)]
)
def test_a_record_reads_back_as_it_was_written(verdict):
    """So nothing is written twice."""
    new = record(None, verdict, NOON)
    assert recorded_from(recorded_to(new)) == new
    assert record(new, verdict, NOON) == new


def test_what_a_later_version_wrote_is_no_decision_here():
    """An unknown phase or time is not understood, and does not stop the pass."""
    assert recorded_from({"phase": "Considered"}) is None
    assert recorded_from(None) is None
    assert recorded_from({"phase": "Admitted", "admittedAt": "soon"}).admitted_at is None


def test_explain_says_why_a_run_waits_or_was_refused():
    """One sentence; nothing where nothing is to be said."""
    assert explain_admission(recorded_to(record(None, held(3), NOON))) == (
        "Waiting for admission, at position 5 or earlier in its namespace's queue: "
        "because of ConcurrencyLimit (ConcurrencyLimit)."
    )
    denied = {"phase": "Denied", "reason": "SecretBlocked", "message": "the Secret x is blocked"}
    assert explain_admission(denied) == (
        "Denied by policy; it never starts: the Secret x is blocked (SecretBlocked)."
    )
    assert explain_admission({"phase": "Admitted"}) is None
    assert explain_admission(None) is None
