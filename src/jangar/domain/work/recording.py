"""The record after a pass over a child's work: lifecycle, conditions and retention, from where it stands."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.ignored import ignored_claims
from jangar.domain.cancellation.machine import Decision
from jangar.domain.conditions import (
    Claim,
    ConditionStatus,
    ConditionType,
    Facts,
    execution_claims,
    optional_claims,
    suspended_claims,
)
from jangar.domain.retention.decide import Retention, retention_status
from jangar.domain.retention.values import (
    NEVER,
    WITH_ROOT,
    Keep,
    Resolved,
    Source,
    job_lifetime,
    resolve_job_ttl,
    resolve_run_retention,
)
from jangar.domain.status_contract import advance
from jangar.domain.work.observation import Owner, WorkObservation
from jangar.domain.work.record import WorkRecord
from jangar.domain.work.workflow_status import followed


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSummary:
    """Where a child is, and why."""

    phase: Phase
    reason: str
    message: str = ""
    is_blocked: bool = False
    by_policy: bool = False
    """Blocked by somebody's decision, which `reason` and `message` tell."""
    job_missing: bool = False

    @classmethod
    def blocked(cls, reason: str, message: str) -> Self:
        """Pending, and not by its own choice."""
        return cls(phase=Phase.PENDING, reason=reason, message=message, is_blocked=True)


def with_standing(
    record: WorkRecord,
    observation: WorkObservation,
    standing: PhaseSummary,
    decision: Decision,
    *,
    now: datetime,
) -> WorkRecord:
    """The record with its lifecycle advanced; `observation.recorded` itself when nothing differs."""
    old = observation.recorded
    suspended = observation.child.suspend and standing.phase not in TERMINAL
    facts = Facts(
        reason=standing.reason,
        message=standing.message,
        blocked=standing.is_blocked,
        suspended=suspended,
        cancel_timed_out=standing.reason == Reason.CANCEL_TIMED_OUT,
    )
    holding = [
        *suspended_claims(suspended=suspended),
        *ignored_claims(decision, standing.phase, old.lifecycle),
        *_missing(standing),
        *_blocked(standing),
    ]
    decided = {ConditionType.SUSPENDED}
    if not old.lifecycle.is_terminal:
        decided |= {ConditionType.CANCEL_IGNORED, ConditionType.WORKFLOW_JOB_MISSING, ConditionType.BLOCKED}
    lifecycle = advance(
        old.lifecycle,
        phase=standing.phase,
        reason=str(standing.reason),
        message=standing.message,
        generation=observation.child.generation,
        claims=(
            *execution_claims(standing.phase, facts),
            *optional_claims(old.lifecycle.conditions, *holding, decided=frozenset(decided)),
        ),
        now=now,
        ran=_ran(record),
    )
    stages = followed(record, standing.phase, str(standing.reason), standing.message, now)
    found = replace(record, lifecycle=lifecycle, stages=stages)
    if lifecycle.is_terminal:
        found = replace(found, retention=_retention(found, observation))
    if found == old:
        return old
    return replace(found, lifecycle=replace(lifecycle, updated_at=now))


def _ran(record: WorkRecord) -> bool:
    """Whether a pod of it ran at some moment; one that ended without an exit code may never have."""
    known = record.job is not None and record.job.pod_uid is not None
    return known and (record.outcome is None or record.outcome.exit_code is not None)


def job_ttl(observation: WorkObservation) -> Resolved:
    """The TTL that the Job really gets; once it is said, a change of the tool or of a setting comes too late."""
    limits, said = observation.limits, observation.recorded.retention
    if said is not None and said.job_source in set(Source):
        kept = said.job_ttl_seconds
        keep = NEVER if kept is None else Keep(duration=timedelta(seconds=kept))
        return Resolved(keep=keep, source=Source(said.job_source))
    resolved = resolve_job_ttl(tool_ttl=observation.child.job_ttl, configured=limits.job_ttl)
    lifetime = job_lifetime(
        resolved.keep, lease_duration=limits.lease_duration, request_timeout=limits.request_timeout
    )
    return Resolved(keep=lifetime, source=resolved.source)


def run_retention(observation: WorkObservation) -> Resolved:
    """How long the child itself is kept; one that belongs to a run goes with it."""
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


def _missing(standing: PhaseSummary) -> list[Claim]:
    if not standing.job_missing:
        return []
    return [
        Claim(
            type=ConditionType.WORKFLOW_JOB_MISSING,
            status=ConditionStatus.TRUE,
            reason=Reason.WORKFLOW_JOB_MISSING,
            message=standing.message,
        )
    ]


def _blocked(standing: PhaseSummary) -> list[Claim]:
    if not standing.by_policy:
        return []
    return [
        Claim(
            type=ConditionType.BLOCKED,
            status=ConditionStatus.TRUE,
            reason=standing.reason,
            message=standing.message,
        )
    ]
