"""Whether the Job of an attempt is there, was never created, or was lost."""

import pytest

from jangar.api.phases import OnJobMissing
from jangar.api.reasons import Reason
from jangar.domain.job_execution.presence import (
    ConfirmByLiveRead,
    ConfirmedAbsent,
    CreateAgain,
    GoneAfterOutcome,
    Lost,
    NeverStarted,
    NothingRecorded,
    NotInCache,
    Present,
    RecordedJob,
    Seen,
    presence,
)

INTENT = RecordedJob(name="build-1", attempt=1)
CREATED = RecordedJob(name="build-1", attempt=1, created=True)
OBSERVED = RecordedJob(name="build-1", attempt=1, observed=True)
KNOWN = RecordedJob(name="build-1", attempt=1, uid="u1")
FAIL, RETRY = OnJobMissing.FAIL, OnJobMissing.RETRY


@pytest.mark.parametrize(
    ("recorded", "observed", "facts", "expected"),
    [
        pytest.param(None, ConfirmedAbsent(), {}, NothingRecorded(), id="no-intent-is-not-judged"),
        pytest.param(None, Seen(uid="u1"), {}, NothingRecorded(), id="no-intent-whatever-is-seen"),
        pytest.param(INTENT, Seen(uid="u1"), {}, Present(uid="u1"), id="seen-for-the-first-time"),
        pytest.param(KNOWN, Seen(uid="u1"), {}, Present(uid="u1"), id="seen-again"),
        pytest.param(KNOWN, Seen(uid="u1"), {"outcome_recorded": True}, Present(uid="u1"), id="still-there"),
        pytest.param(KNOWN, NotInCache(), {}, ConfirmByLiveRead(name="build-1"), id="a-cache-proves-nothing"),
        pytest.param(INTENT, NotInCache(), {}, ConfirmByLiveRead(name="build-1"), id="nor-that-it-never-was"),
        pytest.param(KNOWN, Seen(uid="u2"), {}, ConfirmByLiveRead(name="build-1"), id="another-in-the-cache"),
        pytest.param(
            KNOWN, Seen(uid="u2", live=True), {}, Lost(name="build-1", then=FAIL), id="another-took-its-name"
        ),
        pytest.param(
            KNOWN,
            Seen(uid="u2", live=True),
            {"policy": RETRY, "stopping": True},
            Lost(name="build-1", then=FAIL),
            id="another-took-its-name-while-stopping",
        ),
        pytest.param(INTENT, ConfirmedAbsent(), {}, CreateAgain(name="build-1"), id="never-created"),
        pytest.param(
            INTENT, ConfirmedAbsent(), {"stopping": True}, NeverStarted(), id="never-created-when-stopping"
        ),
        pytest.param(
            INTENT,
            ConfirmedAbsent(existed=True),
            {},
            Lost(name="build-1", then=FAIL),
            id="an-unanswered-create-that-was-done",
        ),
        pytest.param(
            INTENT,
            ConfirmedAbsent(existed=True),
            {"policy": RETRY},
            Lost(name="build-1", then=RETRY),
            id="an-unanswered-create-that-was-done-is-retried-on-request",
        ),
        pytest.param(CREATED, ConfirmedAbsent(), {}, Lost(name="build-1", then=FAIL), id="created-then-gone"),
        pytest.param(
            OBSERVED, ConfirmedAbsent(), {}, Lost(name="build-1", then=FAIL), id="observed-then-gone"
        ),
        pytest.param(KNOWN, ConfirmedAbsent(), {}, Lost(name="build-1", then=FAIL), id="known-then-gone"),
        pytest.param(
            OBSERVED,
            ConfirmedAbsent(),
            {"policy": RETRY},
            Lost(name="build-1", then=RETRY),
            id="retry-is-opt-in",
        ),
        pytest.param(
            OBSERVED,
            ConfirmedAbsent(),
            {"policy": RETRY, "stopping": True},
            Lost(name="build-1", then=FAIL),
            id="no-retry-when-stopping",
        ),
        pytest.param(
            KNOWN,
            ConfirmedAbsent(),
            {"outcome_recorded": True},
            GoneAfterOutcome(confirmed=True),
            id="gone-after-its-outcome-is-normal",
        ),
        pytest.param(
            KNOWN,
            NotInCache(),
            {"outcome_recorded": True},
            GoneAfterOutcome(confirmed=False),
            id="gone-by-the-caches-word",
        ),
        pytest.param(
            KNOWN,
            Seen(uid="u2", live=True),
            {"outcome_recorded": True},
            GoneAfterOutcome(confirmed=True),
            id="another-after-the-outcome",
        ),
    ],
)
@pytest.mark.rule("GC-2")
def test_a_missing_job_is_never_created_lost_or_done(recorded, observed, facts, expected):
    """GC-2: judged only once confirmed created, and a live read confirms a miss."""
    assert presence(recorded, observed, **({"outcome_recorded": False} | facts)) == expected


@pytest.mark.rule("GC-2")
def test_a_lost_job_carries_the_reason_of_its_condition():
    """GC-2: condition type WorkflowJobMissing."""
    found = presence(KNOWN, ConfirmedAbsent(), outcome_recorded=False)
    assert found == Lost(name="build-1", then=FAIL, reason=Reason.WORKFLOW_JOB_MISSING)
