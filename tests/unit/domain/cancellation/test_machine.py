"""What becomes of a request to cancel (CAN-1, CAN-6, CAN-7, CAN-9)."""

from datetime import timedelta

import pytest

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import (
    Accepted,
    Cancel,
    Ignored,
    NotRequested,
    Requester,
    already_ended_reason,
    decide,
)
from support.builders import NOON, at

MINUTE = timedelta(minutes=1)
LIVE = [None, Phase.PENDING, Phase.RUNNING, Phase.CANCELLING]
ENDED = [
    pytest.param(Phase.SUCCEEDED, Reason.ALREADY_SUCCEEDED, id="succeeded"),
    pytest.param(Phase.FAILED, Reason.ALREADY_FAILED, id="failed"),
    pytest.param(Phase.CANCELLED, Reason.ALREADY_CANCELLED, id="cancelled"),
]
EARLIER = Cancel(requested_at=at(-30), deadline=at(30), requested_by=("cancel",))


def decided(*by, recorded=None, phase=Phase.RUNNING, enabled=True, deadline=None):
    return decide(
        recorded, frozenset(by), phase=phase, enabled=enabled, timeout=MINUTE, now=NOON, deadline=deadline
    )


@pytest.mark.rule("CAN-2")
@pytest.mark.parametrize("phase", LIVE, ids=str)
@pytest.mark.parametrize("by", list(Requester), ids=str)
def test_a_request_is_accepted_in_every_live_phase(phase, by):
    """CAN-2, CAN-8: for every requester and in every phase of the run."""
    assert decided(by, phase=phase) == Accepted(
        cancel=Cancel(requested_at=NOON, deadline=at(60), requested_by=(by.value,))
    )


@pytest.mark.rule("CAN-2")
def test_all_requesters_are_recorded_in_a_fixed_order():
    """CAN-2, DAG-8: the record does not depend on the order of a set."""
    answer = decided(Requester.OWNER, Requester.DESIRED_STATE, Requester.CANCEL, Requester.DELETION)
    assert answer.cancel.requested_by == ("cancel", "deletion", "desiredState", "owner")
    assert all(type(item) is str for item in answer.cancel.requested_by)


@pytest.mark.rule("CAN-1")
@pytest.mark.parametrize("phase", LIVE, ids=str)
@pytest.mark.parametrize("enabled", [True, False], ids=["enabled", "disabled"])
def test_an_accepted_request_is_never_withdrawn_and_its_times_never_move(phase, enabled):
    """CAN-1: the request is withdrawn, and the cancel is still in force."""
    assert decided(recorded=EARLIER, phase=phase, enabled=enabled) == Accepted(cancel=EARLIER)


@pytest.mark.rule("CAN-1")
def test_a_second_requester_is_added_without_moving_the_times():
    """CAN-1: asking twice is asking once."""
    assert decided(Requester.DELETION, recorded=EARLIER) == Accepted(
        cancel=Cancel(requested_at=at(-30), deadline=at(30), requested_by=("cancel", "deletion"))
    )


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(None, at(60), id="none-given-takes-the-operators"),
        pytest.param(at(58), at(58), id="earlier-one-is-kept"),
        pytest.param(at(61), at(60), id="later-one-does-not-lengthen"),
    ],
)
def test_the_deadline_is_the_earlier_of_the_parents_and_the_operators(given, expected):
    """CAN-6: every stop has a bound, and the parent's comes first."""
    assert decided(Requester.OWNER, deadline=given).cancel.deadline == expected


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(at(29), at(29), id="earlier-one-comes-nearer"),
        pytest.param(at(31), at(30), id="later-one-changes-nothing"),
    ],
)
def test_a_parent_that_stops_later_can_only_bring_the_deadline_nearer(given, expected):
    """CAN-6: a child's deadline lies before its parent's, regardless of who cancelled the child first."""
    assert decided(Requester.OWNER, recorded=EARLIER, deadline=given) == Accepted(
        cancel=Cancel(requested_at=at(-30), deadline=expected, requested_by=("cancel", "owner"))
    )


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize(("phase", "reason"), ENDED)
@pytest.mark.parametrize("by", [Requester.CANCEL, Requester.DESIRED_STATE], ids=str)
def test_a_request_after_the_end_is_ignored_and_says_why(phase, reason, by):
    """CAN-7: AlreadySucceeded, AlreadyFailed, AlreadyCancelled."""
    assert decided(by, phase=phase) == Ignored(reason=reason)


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize(("phase", "reason"), ENDED)
@pytest.mark.parametrize("by", [Requester.DELETION, Requester.OWNER], ids=str)
def test_deleting_a_finished_run_is_no_ignored_cancel(phase, reason, by):
    """CAN-7: retention deletes finished runs; that is not a cancel request."""
    assert decided(by, phase=phase) == NotRequested()


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize(("phase", "reason"), ENDED)
def test_a_request_that_ended_the_run_is_not_called_ignored_later(phase, reason):
    """CAN-7: the field stays set after the end; only a new requester gets the answer that it is too late."""
    assert decided(Requester.CANCEL, recorded=EARLIER, phase=phase) == Accepted(cancel=EARLIER)
    assert decided(Requester.CANCEL, Requester.DESIRED_STATE, recorded=EARLIER, phase=phase) == Accepted(
        cancel=EARLIER, ignored=reason
    )


@pytest.mark.rule("CAN-7")
def test_deletion_after_a_cancelled_end_says_nothing():
    """CAN-7: deletion is no request of the user's."""
    assert decided(Requester.DELETION, recorded=EARLIER, phase=Phase.CANCELLED) == Accepted(cancel=EARLIER)


@pytest.mark.rule("CAN-9")
@pytest.mark.parametrize("by", [Requester.CANCEL, Requester.DESIRED_STATE], ids=str)
def test_switched_off_the_users_request_is_ignored(by):
    """CAN-9: CancelDisabled, while the run continues."""
    assert decided(by, enabled=False) == Ignored(reason=Reason.CANCEL_DISABLED)


@pytest.mark.rule("CAN-9")
@pytest.mark.parametrize("by", [Requester.DELETION, Requester.OWNER], ids=str)
def test_with_cancel_disabled_deletion_and_the_owner_still_stop_the_run(by):
    """CAN-9, GC-9: a deleted run must stop its work whatever the switch says."""
    assert decided(by, Requester.CANCEL, enabled=False) == Accepted(
        cancel=Cancel(requested_at=NOON, deadline=at(60), requested_by=(by.value,))
    )


@pytest.mark.parametrize("phase", [*LIVE, Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED], ids=str)
@pytest.mark.parametrize("enabled", [True, False], ids=["enabled", "disabled"])
def test_without_a_request_nothing_is_decided(phase, enabled):
    """CAN-1: silence is no request."""
    assert decided(phase=phase, enabled=enabled) == NotRequested()


@pytest.mark.rule("CAN-7")
@pytest.mark.parametrize(("phase", "reason"), ENDED)
def test_each_end_has_its_own_word(phase, reason):
    """CAN-7: the reason names the end that came first."""
    assert already_ended_reason(phase) is reason
