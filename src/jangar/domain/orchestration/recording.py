"""The record after a pass: the run's lifecycle, conditions included, from its verdict. Decides no phase."""

from dataclasses import replace
from datetime import datetime

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.machine import Accepted, Decision, Ignored, too_late
from jangar.domain.conditions import (
    Claim,
    ConditionStatus,
    ConditionType,
    Facts,
    execution_claims,
    optional_claims,
)
from jangar.domain.orchestration.observation import Observation
from jangar.domain.orchestration.outcome import Verdict
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.status_contract import Lifecycle, advance


def with_verdict(
    record: RunRecord,
    observation: Observation,
    verdict: Verdict,
    decision: Decision,
    *,
    now: datetime,
    started: bool = False,
    unforgiven: bool = False,
    children_finished_at: datetime | None = None,
) -> RunRecord:
    """The record with its lifecycle advanced; `observation.recorded` itself when nothing differs."""
    old = observation.recorded
    suspended = observation.run.suspend and verdict.phase not in TERMINAL
    facts = Facts(
        reason=verdict.reason,
        message=verdict.message,
        blocked=verdict.blocked,
        suspended=suspended,
        unforgiven_failure=unforgiven,
        cancel_timed_out=verdict.reason == Reason.CANCEL_TIMED_OUT,
    )
    holding = [
        *_suspended(suspended=suspended),
        *_cancel_ignored(decision, verdict.phase, old.lifecycle),
    ]
    decided = {ConditionType.SUSPENDED}
    if not old.lifecycle.is_terminal:
        decided.add(ConditionType.CANCEL_IGNORED)
    claims = (
        *execution_claims(verdict.phase, facts),
        *optional_claims(old.lifecycle.conditions, *holding, decided=frozenset(decided)),
    )
    lifecycle = advance(
        old.lifecycle,
        phase=verdict.phase,
        reason=str(verdict.reason),
        message=verdict.message,
        generation=observation.run.generation,
        claims=claims,
        now=now,
        children_finished_at=children_finished_at,
        ran=started,
    )
    found = replace(record, lifecycle=lifecycle)
    if found == old:
        return old
    return replace(found, lifecycle=replace(lifecycle, updated_at=now))


def _suspended(*, suspended: bool) -> list[Claim]:
    if not suspended:
        return []
    return [
        Claim(
            type=ConditionType.SUSPENDED,
            status=ConditionStatus.TRUE,
            reason=Reason.SUSPENDED,
            message="nothing new starts until spec.suspend is false",
        )
    ]


def _cancel_ignored(decision: Decision, phase: Phase, old: Lifecycle) -> list[Claim]:
    """A cancel that changed nothing says so: it came too late, cut nothing, or is switched off.

    A finished run keeps the reason that it gave first: nothing about it changes any more.
    """
    match decision:
        case Ignored(reason=reason) | Accepted(ignored=Reason() as reason):
            pass
        case Accepted() if phase in TERMINAL and phase is not Phase.CANCELLED and not old.is_terminal:
            reason = too_late(phase)
        case _:
            return []
    said = [
        each.reason
        for each in old.conditions
        if each.type == ConditionType.CANCEL_IGNORED and each.status is ConditionStatus.TRUE
    ]
    first = said[0] if said and old.is_terminal else reason
    return [Claim(type=ConditionType.CANCEL_IGNORED, status=ConditionStatus.TRUE, reason=first)]
