"""A cancel, a stop and what was left behind as JSON and back, and what an ignored cancel says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import (
    Accepted,
    Cancel,
    Ignored,
    LeftBehind,
    NotRequested,
    Stop,
    cancel_document,
    cancel_from,
    ignored_claims,
    left_behind_from,
    stop_document,
    stop_from,
)
from jangar.domain.conditions import Condition, ConditionStatus
from jangar.domain.retention import History, Retention, retention_document, retention_from
from jangar.domain.status_contract import Lifecycle
from support.builders import NOON, at

times = st.integers(0, 100_000).map(lambda item: at(item / 1000))
maybe = st.one_of(st.none(), times)
seconds = st.one_of(st.none(), st.integers(0, 10**9))
words = st.text(min_size=1, max_size=9)
CANCEL = Cancel(requested_at=NOON, deadline=at(60), requested_by=("cancel",))
ENDED = Lifecycle(phase=Phase.SUCCEEDED)


@given(st.builds(Stop, requested_at=times, reason=words, deadline=times))
def test_a_stop_is_read_as_it_was_written(stop):
    """Both times and the reason."""
    assert stop_from(stop_document(stop)) == stop


@given(
    st.one_of(
        st.none(),
        st.builds(
            Cancel,
            requested_at=times,
            deadline=times,
            requested_by=st.lists(words, max_size=3).map(tuple),
        ),
    ),
    st.lists(
        st.builds(LeftBehind, kind=words, name=words, uid=st.one_of(st.none(), words), ended_at=maybe),
        max_size=3,
    ),
)
def test_a_cancel_and_what_it_left_are_read_as_they_were_written(cancel, left):
    """Either may be there without the other: a timeout leaves work behind too."""
    document = cancel_document(cancel, left)
    assert cancel_from(document) == cancel
    assert left_behind_from(document) == tuple(left)
    assert bool(document) == (cancel is not None or bool(left))


@given(
    st.builds(
        Retention,
        job_ttl_seconds=seconds,
        job_expires_at=maybe,
        job_source=st.one_of(st.none(), words),
        run_retention_seconds=seconds,
        run_expires_at=maybe,
        run_source=st.one_of(st.none(), words),
        history=st.one_of(st.none(), st.sampled_from(list(History))),
    )
)
def test_retention_is_read_as_it_was_written(retention):
    """A zero is not the same as nothing."""
    assert retention_from(retention_document(retention)) == retention


def test_older_documents_without_a_deadline_are_over_at_once():
    """Without a deadline nothing is waited for."""
    written = {"requestedAt": "2026-02-07T12:00:00Z", "reason": "Cancelled"}
    assert stop_from(written) == Stop(requested_at=NOON, reason="Cancelled", deadline=NOON)
    assert cancel_from(written) == Cancel(requested_at=NOON, deadline=NOON)
    assert stop_from(None) is None
    assert cancel_from({}) is None
    with pytest.raises(ValueError, match="requestedAt"):
        stop_from({"reason": "Cancelled"})


@pytest.mark.parametrize(
    ("decision", "phase", "old", "reason"),
    [
        pytest.param(NotRequested(), Phase.RUNNING, Lifecycle(), None, id="no-requester"),
        pytest.param(Accepted(cancel=CANCEL), Phase.CANCELLING, Lifecycle(), None, id="in-force"),
        pytest.param(Accepted(cancel=CANCEL), Phase.CANCELLED, Lifecycle(), None, id="it-was-heeded"),
        pytest.param(
            Accepted(cancel=CANCEL), Phase.SUCCEEDED, Lifecycle(), "AlreadySucceeded", id="it-cut-nothing"
        ),
        pytest.param(Accepted(cancel=CANCEL), Phase.SUCCEEDED, ENDED, None, id="said-once"),
        pytest.param(
            Ignored(reason=Reason.CANCEL_DISABLED),
            Phase.RUNNING,
            Lifecycle(),
            "CancelDisabled",
            id="switched-off",
        ),
        pytest.param(
            Ignored(reason=Reason.ALREADY_SUCCEEDED),
            Phase.SUCCEEDED,
            ENDED,
            "AlreadySucceeded",
            id="too-late",
        ),
        pytest.param(
            Accepted(cancel=CANCEL, ignored=Reason.ALREADY_CANCELLED),
            Phase.CANCELLED,
            Lifecycle(phase=Phase.CANCELLED),
            "AlreadyCancelled",
            id="asked-once-more",
        ),
    ],
)
@pytest.mark.rule("CAN-7", "CAN-9")
def test_a_cancel_that_changed_nothing_says_why(decision, phase, old, reason):
    """CancelIgnored=True with the reason; a cancel that is heeded says nothing."""
    claims = ignored_claims(decision, phase, old)
    assert [(claim.type, claim.status, claim.reason) for claim in claims] == (
        [("CancelIgnored", "True", reason)] if reason else []
    )


@pytest.mark.rule("CAN-7")
def test_the_first_reason_of_a_finished_run_stays():
    """Nothing about it changes any more."""
    condition = Condition(type="CancelIgnored", status=ConditionStatus.TRUE, reason="CancelDisabled")
    old = Lifecycle(phase=Phase.SUCCEEDED, conditions=(condition,))
    (claim,) = ignored_claims(Ignored(reason=Reason.ALREADY_SUCCEEDED), Phase.SUCCEEDED, old)
    assert claim.reason == "CancelDisabled"
