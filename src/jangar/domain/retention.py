"""Retention: how long Jobs, runs and logs are kept, when a finished run may be deleted, and how a status records it.

`0` means as soon as the end is recorded; `never` means that nothing is deleted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from jangar.api.lifecycle import Ttl
from jangar.api.meta import JsonObject
from jangar.domain.status_contract import time_from, time_to
from kubekit.times import whole_second_after

MAX_SECONDS = 2**31 - 1
"""What a Job's `ttlSecondsAfterFinished` can hold: 68 years."""

_NEVER_WORDS = frozenset({"never", "null", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """How long after its end something is kept; without a duration, forever."""

    duration: timedelta | None

    @property
    def seconds(self) -> int | None:
        """Whole seconds as a status and a Job carry them; None means forever."""
        return None if self.duration is None else int(self.duration.total_seconds())

    def until(self, ended_at: datetime | None) -> datetime | None:
        """When it may be deleted; None before its end, and if it is kept forever."""
        return None if self.duration is None or ended_at is None else ended_at + self.duration


NEVER = Keep(duration=None)
DEFAULT_JOB_TTL = Keep(duration=timedelta(seconds=600))
DEFAULT_RUN_RETENTION = Keep(duration=timedelta(seconds=2592000))


class Source(StrEnum):
    """The setting that decided."""

    OBJECT = "spec.ttlSecondsAfterFinished"
    TOOL = "tool.spec.ttlSecondsAfterFinished"
    ORCHESTRATION_RETENTION = "orchestrationController.retentionSeconds"
    AGENTRUN_RETENTION = "controller.agentRunRetentionSeconds"
    JOB_TTL = "controller.jobTtlSecondsAfterFinished"
    ROOT_RUN = "rootRun"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A value and where it comes from."""

    keep: Keep
    source: Source


WITH_ROOT = Resolved(keep=NEVER, source=Source.ROOT_RUN)
"""What a child has instead of a value of its own: it goes with its root run, not before."""


def parse_seconds(text: str | None, *, variable: str) -> Keep:
    """The value of a setting; raises ValueError with the variable and the fix for what is none.

    An empty value is what a null in the chart becomes, and keeping is the mistake that loses nothing: both mean
    never. A variable that is not set at all has its default, and is not read here.
    """
    word = (text or "").strip()
    if word.lower() in _NEVER_WORDS:
        return NEVER
    if not (word.isascii() and word.isdigit()):
        raise ValueError(
            f"{variable}={text!r} is not a number of seconds: write a whole number such as 600, "
            "0 to delete as soon as the end is recorded, or never"
        )
    if int(word) > MAX_SECONDS:
        raise ValueError(
            f"{variable}={text!r} is more than {MAX_SECONDS} seconds: write never to keep it forever"
        )
    return keep_for(int(word))


def keep_for(ttl: Ttl) -> Keep:
    """The value of a spec field, which the schema has checked."""
    return Keep(duration=timedelta(seconds=ttl)) if isinstance(ttl, int) else NEVER


def resolve_run_retention(
    *,
    spec_ttl: Ttl | None,
    orchestration_retention: Keep | None,
    agentrun_retention: Keep | None,
    default: Keep = DEFAULT_RUN_RETENTION,
) -> Resolved:
    """How long a run or a child of its own is kept: the first that is set, in this order.

    `orchestration_retention` is for runs and ToolRuns; for an AgentRun the caller gives None.
    """
    if spec_ttl is not None:
        return Resolved(keep=keep_for(spec_ttl), source=Source.OBJECT)
    if orchestration_retention is not None:
        return Resolved(keep=orchestration_retention, source=Source.ORCHESTRATION_RETENTION)
    if agentrun_retention is not None:
        return Resolved(keep=agentrun_retention, source=Source.AGENTRUN_RETENTION)
    return Resolved(keep=default, source=Source.DEFAULT)


def resolve_job_ttl(
    *, tool_ttl: Ttl | None, configured: Keep | None, default: Keep = DEFAULT_JOB_TTL
) -> Resolved:
    """How long a finished Job is kept: the tool's wish, the controller's setting, or the default."""
    if tool_ttl is not None:
        return Resolved(keep=keep_for(tool_ttl), source=Source.TOOL)
    if configured is not None:
        return Resolved(keep=configured, source=Source.JOB_TTL)
    return Resolved(keep=default, source=Source.DEFAULT)


def job_floor(*, lease_duration: timedelta, request_timeout: timedelta) -> timedelta:
    """How long a create that was sent before the lease was lost can still arrive."""
    return lease_duration + request_timeout


def job_lifetime(ttl: Keep, *, lease_duration: timedelta, request_timeout: timedelta) -> Keep:
    """The TTL that a recorded Job really gets: never so short that a late create finds its name free."""
    if ttl.duration is None:
        return ttl
    floor = job_floor(lease_duration=lease_duration, request_timeout=request_timeout)
    return Keep(duration=max(ttl.duration, floor))


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


def retention_document(retention: Retention) -> JsonObject:
    """As `status.retention`; what is not set is left out."""
    document = {
        "jobTtlSeconds": retention.job_ttl_seconds,
        "jobExpiresAt": time_to(retention.job_expires_at),
        "jobSource": retention.job_source and str(retention.job_source),
        "runRetentionSeconds": retention.run_retention_seconds,
        "runExpiresAt": time_to(retention.run_expires_at),
        "runSource": retention.run_source and str(retention.run_source),
        "history": retention.history and str(retention.history),
    }
    return {name: value for name, value in document.items() if value is not None}


def retention_from(document: Mapping[str, Any]) -> Retention:
    """Read back."""
    return Retention(
        job_ttl_seconds=document.get("jobTtlSeconds"),
        job_expires_at=time_from(document, "jobExpiresAt"),
        job_source=document.get("jobSource"),
        run_retention_seconds=document.get("runRetentionSeconds"),
        run_expires_at=time_from(document, "runExpiresAt"),
        run_source=document.get("runSource"),
        history=History(document["history"]) if document.get("history") in set(History) else None,
    )
