"""What will be deleted when, said in the status, and whether a finished run may go now.

Knows the conditions that retention waits for; how they come about is others' business.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jangar.domain.retention.values import Keep, Resolved
from jangar.domain.times import whole_second_after


class History(StrEnum):
    """Whether what becomes of a run is stored before it is deleted."""

    ON = "On"
    OFF = "Off"


class KeptBecause(StrEnum):
    """Why a run is not deleted now."""

    NOT_FINISHED = "NotFinished"
    WITH_ROOT = "GoesWithRootRun"
    FOR_EVER = "KeptForEver"
    NOT_DUE = "NotDue"
    CLEANING_UP = "CleaningUp"
    HISTORY = "HistoryNotStored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """What `status.retention` says."""

    job_ttl_seconds: int | None = None
    job_expires_at: datetime | None = None
    job_source: str | None = None
    run_retention_seconds: int | None = None
    run_expires_at: datetime | None = None
    run_source: str | None = None
    history: History | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """What retention looks at."""

    finished_at: datetime | None
    """`status.finishedAt`; None while the run has not ended."""
    keep: Keep
    cleaning_up: bool = False
    """Something left behind may still run, or a Job or pod still carries our finalizer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """It may go, with everything it owns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """It stays; a time is given where only time is waited for, else an event brings the next look."""

    because: KeptBecause
    look_again_at: datetime | None = None


def retention_status(
    *,
    job: Resolved | None,
    run: Resolved,
    jobs_ended_at: datetime | None,
    finished_at: datetime | None,
    history_enabled: bool,
) -> Retention:
    """What is known now. `job` is the TTL that Jobs really get (`job_lifetime`); None where there are none."""
    return Retention(
        job_ttl_seconds=job.keep.seconds if job else None,
        job_expires_at=_rounded(job.keep.until(jobs_ended_at)) if job else None,
        job_source=job.source if job else None,
        run_retention_seconds=run.keep.seconds,
        run_expires_at=_rounded(run.keep.until(finished_at)),
        run_source=run.source,
        history=History.ON if history_enabled else History.OFF,
    )


def _rounded(moment: datetime | None) -> datetime | None:
    return whole_second_after(moment) if moment else None


def is_due(finished_at: datetime | None, keep: Keep, *, now: datetime) -> bool:
    """Whether its time is over."""
    expires_at = keep.until(finished_at)
    return expires_at is not None and now >= expires_at


def may_delete(
    run: FinishedRun, *, history_stored: bool, history_enabled: bool, is_root: bool, now: datetime
) -> Delete | Kept:
    """Whether the run goes now, and if not, why and when to look again."""
    if run.finished_at is None:
        return Kept(because=KeptBecause.NOT_FINISHED)
    if not is_root:
        return Kept(because=KeptBecause.WITH_ROOT)
    if (expires_at := run.keep.until(run.finished_at)) is None:
        return Kept(because=KeptBecause.FOR_EVER)
    if not is_due(run.finished_at, run.keep, now=now):
        return Kept(because=KeptBecause.NOT_DUE, look_again_at=expires_at)
    if run.cleaning_up:
        return Kept(because=KeptBecause.CLEANING_UP)
    if history_enabled and not history_stored:
        return Kept(because=KeptBecause.HISTORY)
    return Delete()
