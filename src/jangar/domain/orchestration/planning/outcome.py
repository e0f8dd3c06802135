"""The phase of a run, computed from all its steps (DAG-7), with its message, outputs and conditions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from jangar.api.phases import TERMINAL, Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Decision, ignored_claims, while_waiting
from jangar.domain.conditions import (
    ConditionType,
    Facts,
    execution_claims,
    optional_claims,
    suspended_claims,
)
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.outputs import MAX_BYTES
from jangar.domain.orchestration.planning.observation import (
    DefinitionMissing,
    DefinitionRejected,
    Observation,
    SnapshotConflict,
)
from jangar.domain.orchestration.planning.progress import Progress
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.orchestration.templates import MissingInput, TooLarge, render
from jangar.domain.status_contract import advance

SHOWN_FAILURES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A run's phase and why."""

    phase: Phase
    reason: str
    message: str = ""
    blocked: bool = False
    """An object that the run needs does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunControls:
    """Requests and limits that affect the whole run."""

    cancelled: bool = False
    """A cancel was accepted."""
    timed_out: bool = False
    """The run reached its own time limit."""
    suspended: bool = False
    held: bool = False
    """Every step has ended, but the run must still look for children before it ends."""


def run_verdict(progress: Progress, controls: RunControls, *, started: bool) -> Verdict:
    """The run's phase and reason."""
    if not progress.all_terminal or controls.held:
        return _unfinished(controls, started=started)
    if controls.timed_out:
        return Verdict(
            phase=Phase.FAILED, reason=Reason.RUN_TIMED_OUT, message="the run reached its time limit"
        )
    if controls.cancelled and progress.cut:
        late = any(state.reason == Reason.CANCEL_TIMED_OUT for state in progress.states)
        reason = Reason.CANCEL_TIMED_OUT if late else Reason.CANCELLED
        return Verdict(phase=Phase.CANCELLED, reason=reason, message=_cancelled_message(progress, late=late))
    if progress.unforgiven:
        return Verdict(phase=Phase.FAILED, reason=Reason.STEP_FAILED, message=failure_message(progress))
    return Verdict(phase=Phase.SUCCEEDED, reason=Reason.SUCCEEDED, message=_success_message(progress))


def _unfinished(controls: RunControls, *, started: bool) -> Verdict:
    if controls.cancelled:
        return Verdict(
            phase=Phase.CANCELLING, reason=Reason.CANCELLING, message="waiting for running work to stop"
        )
    if controls.timed_out:
        return Verdict(phase=Phase.RUNNING, reason=Reason.STOPPING, message="the run reached its time limit")
    if controls.suspended:
        return Verdict(
            phase=Phase.RUNNING if started else Phase.PENDING,
            reason=Reason.SUSPENDED,
            message="nothing new starts until spec.suspend is false",
        )
    return (
        Verdict(phase=Phase.RUNNING, reason=Reason.RUNNING)
        if started
        else Verdict(phase=Phase.PENDING, reason=Reason.PENDING)
    )


def failure_message(progress: Progress) -> str:
    """Which steps failed and why, the first few in list order."""
    failed = sorted(progress.unforgiven)
    shown = [progress.states[index] for index in failed[:SHOWN_FAILURES]]
    parts = [
        f"step {state.name} {state.phase.lower()}: {state.reason}"
        + (f" ({state.message})" if state.message else "")
        for state in shown
    ]
    more = len(failed) - len(shown)
    return "; ".join(parts) + (f"; and {more} more" if more else "")


def _cancelled_message(progress: Progress, *, late: bool) -> str:
    cut = f"cancelled; {progress.cut} of {len(progress.states)} steps were interrupted or never started"
    return f"{cut}; some work may still be running, see status.cancel.leftBehind" if late else cut


def _success_message(progress: Progress) -> str:
    ignored = progress.tally.ignored
    return (
        f"{ignored} failed step{'s' if ignored > 1 else ''} ignored because of continueOnFailure"
        if ignored
        else ""
    )


def run_outputs(
    definition: Definition, scope: Scope, success: Verdict
) -> tuple[Verdict, Mapping[str, str] | None]:
    """The outputs of a run that succeeded; an output without a value is omitted."""
    outputs: dict[str, str] = {}
    for name, template in definition.outputs.items():
        value = render(template, scope, most=MAX_BYTES)
        if isinstance(value, TooLarge):
            message = f"output {name} of the run is larger than {MAX_BYTES} bytes"
            return Verdict(phase=Phase.FAILED, reason=Reason.OUTPUTS_TOO_LARGE, message=message), None
        if not isinstance(value, MissingInput):
            outputs[name] = value
    size = len(json.dumps(outputs, ensure_ascii=False, separators=(",", ":")).encode())
    if outputs and size > MAX_BYTES:
        message = f"the outputs of the run are {size} bytes; at most {MAX_BYTES} are allowed"
        return Verdict(phase=Phase.FAILED, reason=Reason.OUTPUTS_TOO_LARGE, message=message), None
    return success, outputs or None


def verdict_without_definition(
    definition: Definition | DefinitionMissing | DefinitionRejected | SnapshotConflict,
    *,
    cancelled: bool,
    timed_out: bool,
) -> Verdict:
    """The verdict of a run that has not started. A missing definition may still appear; an invalid one is final."""
    match definition:
        case DefinitionRejected(problems=problems):
            return Verdict(phase=Phase.FAILED, reason=Reason.INVALID_SPEC, message=all_problems(problems))
        case SnapshotConflict(message=message):
            return Verdict(phase=Phase.FAILED, reason=Reason.SNAPSHOT_CONFLICT, message=message)
        case _ if cancelled:
            return Verdict(
                phase=Phase.CANCELLED, reason=Reason.CANCELLED, message="cancelled before it started"
            )
        case _ if timed_out:
            missing = definition.message if isinstance(definition, DefinitionMissing) else None
            message = while_waiting(
                "the run reached its time limit",
                reason=Reason.REFERENCE_NOT_FOUND if missing else None,
                message=missing,
            )
            return Verdict(phase=Phase.FAILED, reason=Reason.RUN_TIMED_OUT, message=message)
        case DefinitionMissing(message=message):
            return Verdict(
                phase=Phase.PENDING, reason=Reason.REFERENCE_NOT_FOUND, message=message, blocked=True
            )
        case Definition():
            return Verdict(phase=Phase.PENDING, reason=Reason.PENDING)
        case _:
            assert_never(definition)


def all_problems(problems: Sequence[Problem]) -> str:
    """Every problem in one message, as conditions show them."""
    return "; ".join(str(problem) for problem in problems)


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
    """The record with its lifecycle advanced; `observation.recorded` itself if nothing changed."""
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
