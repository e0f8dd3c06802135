"""A run with all its steps and their explanations."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from jangar.api.phases import ExecutionMode, StepPhase
from jangar.domain.cancellation import LeftBehind
from jangar.domain.conditions import Condition
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.explain import RunView, explanation
from jangar.domain.orchestration.state import Attempt, Counts, StepState
from jangar.domain.views.run_row import RunIdentity, RunRow, elapsed, run_row


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step on a run's page."""

    name: str
    kind: str
    phase: StepPhase
    reason: str
    sentence: str
    """Why the step is in its phase."""
    attempt: int
    attempts: tuple[Attempt, ...]
    child: str | None
    depends_on: tuple[str, ...]
    causes: tuple[str, ...]
    outputs: Mapping[str, str]
    exit_code: int | None
    started_at: datetime | None
    finished_at: datetime | None
    duration: timedelta | None
    failure_ignored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """Everything about a run."""

    row: RunRow
    mode: ExecutionMode | None
    counts: Mapping[str, int]
    steps: tuple[StepRow, ...]
    outputs: Mapping[str, str]
    conditions: tuple[Condition, ...]
    cancel_requested_at: datetime | None
    left_behind: tuple[LeftBehind, ...]


def run_detail(identity: RunIdentity, run: RunView, *, now: datetime) -> RunDetail:
    """A run and its steps in list order."""
    record = run.record
    return RunDetail(
        row=run_row(identity, record, now=now),
        mode=record.mode or run.definition.mode,
        counts=Counts.of(run.states).document(),
        steps=tuple(_step_row(run, state, index, now) for index, state in enumerate(run.states)),
        outputs=record.outputs or {},
        conditions=record.lifecycle.conditions,
        cancel_requested_at=record.cancel.requested_at if record.cancel else None,
        left_behind=record.left_behind,
    )


def _step_row(run: RunView, state: StepState, index: int, now: datetime) -> StepRow:
    found = explanation(run, index)
    return StepRow(
        name=state.name,
        kind=state.kind,
        phase=state.phase,
        reason=found.reason,
        sentence=found.sentence,
        attempt=state.attempt,
        attempts=state.attempts,
        child=state.child,
        depends_on=_names(run.definition, index),
        causes=state.causes,
        outputs=state.outputs or {},
        exit_code=state.exit_code,
        started_at=state.started_at,
        finished_at=state.finished_at,
        duration=elapsed(state.started_at, state.finished_at, now=now),
        failure_ignored=state.failure_ignored,
    )


def _names(definition: Definition, index: int) -> tuple[str, ...]:
    return tuple(definition.graph.names[need] for need in definition.graph.needs[index])
