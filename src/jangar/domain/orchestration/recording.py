"""The record after a pass: the run's lifecycle, conditions included, from its verdict. Decides no phase."""

from dataclasses import replace
from datetime import datetime

from jangar.api.phases import TERMINAL
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Decision, ignored_claims
from jangar.domain.conditions import (
    ConditionType,
    Facts,
    execution_claims,
    optional_claims,
    suspended_claims,
)
from jangar.domain.orchestration.observation import Observation
from jangar.domain.orchestration.outcome import Verdict
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.status_contract import advance


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
        *suspended_claims(suspended=suspended),
        *ignored_claims(decision, verdict.phase, old.lifecycle),
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
