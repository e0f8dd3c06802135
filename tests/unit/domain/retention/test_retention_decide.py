"""What will be deleted when, and whether a finished run may go now."""

from datetime import UTC, datetime, timedelta

import pytest

from jangar.api.lifecycle import RetentionStatus
from jangar.domain.retention import (
    NEVER,
    WITH_ROOT,
    Delete,
    FinishedRun,
    History,
    Keep,
    Kept,
    KeptBecause,
    Resolved,
    Retention,
    Source,
    is_due,
    may_delete,
    retention_document,
    retention_from,
    retention_status,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
HOUR = Keep(duration=timedelta(hours=1))
AT_ONE = NOON + timedelta(hours=1)
JOB = Resolved(keep=Keep(duration=timedelta(seconds=600)), source=Source.DEFAULT)
RUN = Resolved(keep=HOUR, source=Source.OBJECT)


def status(*, job=JOB, run=RUN, jobs_ended_at=None, finished_at=None, history_enabled=True):
    return retention_status(
        job=job,
        run=run,
        jobs_ended_at=jobs_ended_at,
        finished_at=finished_at,
        history_enabled=history_enabled,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            status,
            Retention(
                job_ttl_seconds=600,
                job_source="default",
                run_retention_seconds=3600,
                run_source="spec.ttlSecondsAfterFinished",
                history=History.ON,
            ),
            id="running-has-values-and-no-times",
        ),
        pytest.param(
            lambda: status(jobs_ended_at=NOON + timedelta(milliseconds=1), finished_at=NOON),
            Retention(
                job_ttl_seconds=600,
                job_expires_at=NOON + timedelta(seconds=601),
                job_source="default",
                run_retention_seconds=3600,
                run_expires_at=AT_ONE,
                run_source="spec.ttlSecondsAfterFinished",
                history=History.ON,
            ),
            id="finished-has-times-in-whole-seconds",
        ),
        pytest.param(
            lambda: status(
                job=None, run=WITH_ROOT, jobs_ended_at=NOON, finished_at=NOON, history_enabled=False
            ),
            Retention(run_source="rootRun", history=History.OFF),
            id="a-child-goes-with-its-root",
        ),
        pytest.param(
            lambda: status(
                job=Resolved(keep=NEVER, source=Source.JOB_TTL),
                run=Resolved(keep=NEVER, source=Source.AGENTRUN_RETENTION),
                jobs_ended_at=NOON,
                finished_at=NOON,
            ),
            Retention(
                job_source="controller.jobTtlSecondsAfterFinished",
                run_source="controller.agentRunRetentionSeconds",
                history=History.ON,
            ),
            id="kept-for-ever-says-who-decided",
        ),
    ],
)
@pytest.mark.rule("GC-4")
def test_the_status_says_what_is_deleted_when_and_which_value_decides(found, expected):
    """GC-4: values, times and the source of each."""
    assert found() == expected


@pytest.mark.rule("GC-4", "GC-6")
def test_the_status_has_the_fields_of_the_api():
    """GC-4, GC-6: nothing is lost on the way to status.retention."""
    found = status(jobs_ended_at=NOON, finished_at=NOON)
    assert retention_from(retention_document(found)) == found
    assert RetentionStatus.model_validate(retention_document(found)) == RetentionStatus(
        job_ttl_seconds=600,
        job_expires_at=NOON + timedelta(seconds=600),
        job_source="default",
        run_retention_seconds=3600,
        run_expires_at=AT_ONE,
        run_source="spec.ttlSecondsAfterFinished",
        history="On",
    )


@pytest.mark.parametrize(
    ("finished_at", "keep", "now", "expected"),
    [
        pytest.param(NOON, HOUR, AT_ONE - timedelta(microseconds=1), False, id="just-before"),
        pytest.param(NOON, HOUR, AT_ONE, True, id="on-time"),
        pytest.param(NOON, NEVER, AT_ONE, False, id="never"),
        pytest.param(None, HOUR, AT_ONE, False, id="not-finished"),
        pytest.param(NOON, Keep(duration=timedelta(0)), NOON, True, id="as-soon-as-recorded"),
    ],
)
@pytest.mark.rule("GC-5")
def test_a_run_is_due_when_its_time_is_over(finished_at, keep, now, expected):
    """GC-5: seconds after the end, at once, or never."""
    assert is_due(finished_at, keep, now=now) is expected


def decided(*, finished_at=NOON, keep=HOUR, cleaning_up=False, now=AT_ONE, **facts):
    run = FinishedRun(finished_at=finished_at, keep=keep, cleaning_up=cleaning_up)
    return may_delete(
        run, now=now, **({"history_stored": True, "history_enabled": True, "is_root": True} | facts)
    )


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        pytest.param(decided, Delete(), id="due-and-stored"),
        pytest.param(
            lambda: decided(finished_at=None), Kept(because=KeptBecause.NOT_FINISHED), id="not-finished"
        ),
        pytest.param(
            lambda: decided(is_root=False),
            Kept(because=KeptBecause.WITH_ROOT),
            id="a-child-goes-with-its-root",
        ),
        pytest.param(lambda: decided(keep=NEVER), Kept(because=KeptBecause.FOR_EVER), id="never"),
        pytest.param(
            lambda: decided(now=NOON, cleaning_up=True, history_stored=False),
            Kept(because=KeptBecause.NOT_DUE, look_again_at=AT_ONE),
            id="not-due-says-when",
        ),
        pytest.param(
            lambda: decided(cleaning_up=True), Kept(because=KeptBecause.CLEANING_UP), id="clean-up-first"
        ),
        pytest.param(
            lambda: decided(history_stored=False),
            Kept(because=KeptBecause.HISTORY),
            id="history-is-stored-first",
        ),
        pytest.param(
            lambda: decided(history_stored=False, history_enabled=False), Delete(), id="history-off"
        ),
        pytest.param(
            lambda: decided(cleaning_up=True, history_enabled=False),
            Kept(because=KeptBecause.CLEANING_UP),
            id="clean-up-first-without-history-too",
        ),
        pytest.param(
            lambda: decided(keep=Keep(duration=timedelta(0)), now=NOON), Delete(), id="zero-goes-at-once"
        ),
    ],
)
@pytest.mark.rule("GC-4", "GC-5", "GC-6", "CAN-6")
def test_a_run_goes_when_it_is_due_cleaned_up_and_in_the_history(decision, expected):
    """GC-5, GC-6, CAN-6: children with their root, only after the row is stored, never while something is left."""
    assert decision() == expected
