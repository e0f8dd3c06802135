"""The record after a planning pass: lifecycle, conditions and retention, from the phase summary."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Decision, ignored_claims
from jangar.domain.conditions import (
    Claim,
    ConditionStatus,
    ConditionType,
    Facts,
    execution_claims,
    optional_claims,
    suspended_claims,
)
from jangar.domain.job_execution.observation import Owner, WorkObservation
from jangar.domain.job_execution.record import WorkRecord
from jangar.domain.job_execution.workflow import update_step
from jangar.domain.retention import (
    NEVER,
    WITH_ROOT,
    Keep,
    Resolved,
    Retention,
    Source,
    job_lifetime,
    resolve_job_ttl,
    resolve_run_retention,
    retention_status,
)
from jangar.domain.status_contract import advance


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSummary:
    """The phase of a child, and why."""

    phase: Phase
    reason: str
    message: str = ""
    is_blocked: bool = False
    by_policy: bool = False
    """Blocked by a policy decision; `reason` and `message` say which."""
    job_missing: bool = False

    @classmethod
    def blocked(cls, reason: str, message: str) -> Self:
        """Pending because something is missing or refused."""
        return cls(phase=Phase.PENDING, reason=reason, message=message, is_blocked=True)


def with_summary(
    record: WorkRecord,
    observation: WorkObservation,
    summary: PhaseSummary,
    decision: Decision,
    *,
    now: datetime,
) -> WorkRecord:
    """The record with its lifecycle advanced; `observation.recorded` itself when nothing differs."""
    old = observation.recorded
    suspended = observation.child.suspend and summary.phase not in TERMINAL
    facts = Facts(
        reason=summary.reason,
        message=summary.message,
        blocked=summary.is_blocked,
        suspended=suspended,
        cancel_timed_out=summary.reason == Reason.CANCEL_TIMED_OUT,
    )
    holding = [
        *suspended_claims(suspended=suspended),
        *ignored_claims(decision, summary.phase, old.lifecycle),
        *_missing(summary),
        *_blocked(summary),
    ]
    decided = {ConditionType.SUSPENDED}
    if not old.lifecycle.is_terminal:
        decided |= {ConditionType.CANCEL_IGNORED, ConditionType.WORKFLOW_JOB_MISSING, ConditionType.BLOCKED}
    lifecycle = advance(
        old.lifecycle,
        phase=summary.phase,
        reason=str(summary.reason),
        message=summary.message,
        generation=observation.child.generation,
        claims=(
            *execution_claims(summary.phase, facts),
            *optional_claims(old.lifecycle.conditions, *holding, decided=frozenset(decided)),
        ),
        now=now,
        ran=_ran(record),
    )
    stages = update_step(record, summary.phase, str(summary.reason), summary.message, now)
    updated = replace(record, lifecycle=lifecycle, stages=stages)
    if lifecycle.is_terminal:
        updated = replace(updated, retention=_retention(updated, observation))
    if updated == old:
        return old
    return replace(updated, lifecycle=replace(lifecycle, updated_at=now))


def _ran(record: WorkRecord) -> bool:
    """Whether a pod ran; one that ended without an exit code may never have started."""
    known = record.job is not None and record.job.pod_uid is not None
    return known and (record.outcome is None or record.outcome.exit_code is not None)


def job_ttl(observation: WorkObservation) -> Resolved:
    """The effective TTL of the Job; once recorded, changes of the Tool or of settings no longer apply."""
    limits, announced = observation.limits, observation.recorded.retention
    if announced is not None and announced.job_source in set(Source):
        kept = announced.job_ttl_seconds
        keep = NEVER if kept is None else Keep(duration=timedelta(seconds=kept))
        return Resolved(keep=keep, source=Source(announced.job_source))
    resolved = resolve_job_ttl(tool_ttl=observation.child.job_ttl, configured=limits.job_ttl)
    lifetime = job_lifetime(
        resolved.keep, lease_duration=limits.lease_duration, request_timeout=limits.request_timeout
    )
    return Resolved(keep=lifetime, source=resolved.source)


def run_retention(observation: WorkObservation) -> Resolved:
    """How long the child is kept; a child of a run is deleted with the run."""
    if observation.owner is not Owner.NONE:
        return WITH_ROOT
    return resolve_run_retention(
        spec_ttl=observation.child.ttl,
        orchestration_retention=observation.limits.orchestration_retention,
        agentrun_retention=observation.limits.retention,
    )


def _retention(record: WorkRecord, observation: WorkObservation) -> Retention:
    ended = record.outcome.finished_at if record.outcome else None
    return retention_status(
        job=job_ttl(observation) if record.job else None,
        run=run_retention(observation),
        jobs_ended_at=ended or record.lifecycle.finished_at,
        finished_at=record.lifecycle.finished_at,
        history_enabled=observation.limits.history_enabled,
    )


def _missing(summary: PhaseSummary) -> list[Claim]:
    if not summary.job_missing:
        return []
    return [
        Claim(
            type=ConditionType.WORKFLOW_JOB_MISSING,
            status=ConditionStatus.TRUE,
            reason=Reason.WORKFLOW_JOB_MISSING,
            message=summary.message,
        )
    ]


def _blocked(summary: PhaseSummary) -> list[Claim]:
    if not summary.by_policy:
        return []
    return [
        Claim(
            type=ConditionType.BLOCKED,
            status=ConditionStatus.TRUE,
            reason=summary.reason,
            message=summary.message,
        )
    ]
