"""The workflow of a child with several Jobs: its steps in sequence, each repeated by its loop, and their status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import TERMINAL, LoopStop, Phase, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.job_execution.outcome import Outcome
from jangar.domain.job_execution.record import IterationRecord, LoopRecord, StageRecord, WorkRecord
from jangar.domain.orchestration.definition import Condition

CONTROL = "control"
"""Member of the runner's report: the content of the loop control file."""
CONTROL_PROBLEM = "controlProblem"
"""Member of the runner's report: why there is no control file."""
MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """How often a step is repeated."""

    max_iterations: int
    condition: Condition | None = None
    """Evaluated after each iteration but the last; without one, all iterations run."""
    needs_control: bool = False
    """Whether the condition reads the iteration's control file."""
    stops_if_missing: bool = True
    stops_if_invalid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStep:
    """One step of the workflow."""

    name: str
    loop: Loop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Another iteration follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDone:
    """The loop ended successfully."""

    reason: LoopStop
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFailed:
    """The loop condition cannot be evaluated."""

    message: str


def after_iteration(
    loop: Loop, index: int, report: Mapping[str, Any] | None
) -> Continue | LoopDone | LoopFailed:
    """What follows an iteration that succeeded; `index` counts from 1, `report` is the runner's."""
    if index >= loop.max_iterations:
        return LoopDone(reason=LoopStop.MAX_ITERATIONS_REACHED)
    if loop.condition is None:
        return Continue()
    members = report or {}
    control = members.get(CONTROL)
    if loop.needs_control and not isinstance(control, Mapping):
        return _without_control(loop, str(members.get(CONTROL_PROBLEM) or MISSING))
    last: dict[str, object] = {"phase": str(Phase.SUCCEEDED)}
    if isinstance(control, Mapping):
        last[CONTROL] = dict(control)
    iteration = {"index": index, "maxIterations": loop.max_iterations, "last": last}
    try:
        answer = loop.condition.evaluate({"iteration": iteration})
    except ValueError as error:
        return LoopFailed(message=f"loop.condition: {error}")
    if not isinstance(answer, bool):
        return LoopFailed(
            message=f"loop.condition: the expression evaluates to {type(answer).__name__}, not to a boolean"
        )
    return Continue() if answer else LoopDone(reason=LoopStop.CONDITION_FALSE)


def _without_control(loop: Loop, problem: str) -> LoopDone | LoopFailed:
    if problem == MISSING:
        message, stops = (
            "the iteration did not write the control file that the loop condition reads",
            loop.stops_if_missing,
        )
    else:
        message = f"the control file of the loop condition is invalid: {problem}"
        stops = loop.stops_if_invalid
    return (
        LoopDone(reason=LoopStop.CONDITION_FALSE, message=message) if stops else LoopFailed(message=message)
    )


MAX_ITERATIONS = 50
"""How many iterations of a loop are listed; older ones are counted."""
_STEP_PHASES = {
    Phase.SUCCEEDED: StepPhase.SUCCEEDED,
    Phase.FAILED: StepPhase.FAILED,
    Phase.CANCELLED: StepPhase.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of a step or of one of its iterations."""

    outcome: Outcome
    outputs: Mapping[str, str] | None = None
    stop: LoopStop | None = None
    message: str = ""


def initial_steps(steps: Sequence[RuntimeStep]) -> tuple[StageRecord, ...]:
    """Every step Pending."""
    return tuple(
        StageRecord(
            name=item.name,
            loop=LoopRecord(max_iterations=item.loop.max_iterations) if item.loop else None,
        )
        for item in steps
    )


def update_step(
    record: WorkRecord, phase: Phase, reason: str, message: str, now: datetime
) -> tuple[StageRecord, ...]:
    """The steps of a record whose child is now in this phase."""
    stage = record.stage
    if stage is None:
        return record.stages
    stage = _with_job(stage, record, now)
    if phase in TERMINAL:
        outcome = record.outcome or Outcome(phase=phase, reason=reason, message=message)
        return _with(record.stages, _finish(stage, End(outcome=outcome, outputs=record.outputs), now), now)
    new_phase, new_reason = _step_phase(stage, record, phase, reason)
    return _with(record.stages, _transition(stage, new_phase, new_reason, message, now), now)


def finish_step(record: WorkRecord, end: End, now: datetime) -> tuple[StageRecord, ...]:
    """The steps after the current one has ended and the child continues."""
    stage = record.stage
    return _with(record.stages, _finish(_with_job(stage, record, now), end, now), now) if stage else ()


def start_next_iteration(
    record: WorkRecord, end: End, control: Mapping[str, Any] | None, now: datetime
) -> tuple[StageRecord, ...]:
    """The steps after an iteration of the current one has ended and another one follows."""
    stage = record.stage
    if stage is None or stage.loop is None:
        return record.stages
    stage = _with_job(stage, record, now)
    loop = _finish_iteration(stage, end, now)
    assert loop is not None  # noqa: S101 - it has one
    iterations = (*loop.iterations, IterationRecord(index=loop.current + 1))
    dropped = max(0, len(iterations) - MAX_ITERATIONS)
    loop = replace(
        loop, iterations=iterations[dropped:], pruned=loop.pruned + dropped, last_control=control or None
    )
    return _with(record.stages, replace(stage, loop=loop, attempts=()), now)


def schedule_retry(record: WorkRecord, backoff: timedelta, now: datetime) -> tuple[StageRecord, ...]:
    """The steps with the time of the current step's next attempt."""
    stage = record.stage
    return _with(record.stages, replace(stage, next_retry_at=now + backoff), now) if stage else ()


def _with(stages: Sequence[StageRecord], changed: StageRecord, now: datetime) -> tuple[StageRecord, ...]:
    """The steps with the changed one; later steps are skipped unless it succeeded."""
    cut = changed.is_over and changed.phase is not StepPhase.SUCCEEDED
    updated: list[StageRecord] = []
    is_after = False
    for stage in stages:
        if stage.name == changed.name:
            updated.append(changed)
            is_after = True
        else:
            updated.append(_skip(stage, changed, now) if cut and is_after else stage)
    return tuple(updated)


def _skip(stage: StageRecord, cause: StageRecord, now: datetime) -> StageRecord:
    cancelled = cause.phase is StepPhase.CANCELLED or cause.reason == Reason.RUN_CANCELLED
    reason = Reason.RUN_CANCELLED if cancelled else Reason.DEPENDENCY_FAILED
    return replace(_transition(stage, StepPhase.SKIPPED, reason, "", now), finished_at=now)


def _with_job(stage: StageRecord, record: WorkRecord, now: datetime) -> StageRecord:
    """The step with the current Job, if that belongs to it."""
    if not stage.owns(record.job):
        return stage
    note = record.job
    assert note is not None  # noqa: S101 - it is owned
    started_at = now if note.pod_uid is not None else None
    stage = replace(stage, job=note, attempts=record.attempts, started_at=stage.started_at or started_at)
    if not any(attempt.attempt == note.attempt for attempt in record.attempts):
        stage = replace(stage, next_retry_at=None)
    if stage.loop is None:
        return stage
    last = stage.loop.iterations[-1]
    last = replace(
        last,
        phase=StepPhase.RUNNING if note.pod_uid else last.phase,
        attempts=note.attempt,
        started_at=last.started_at or started_at,
        job=note.name,
        job_uid=note.uid,
    )
    return replace(stage, loop=replace(stage.loop, iterations=(*stage.loop.iterations[:-1], last)))


def _step_phase(stage: StageRecord, record: WorkRecord, phase: Phase, reason: str) -> tuple[StepPhase, str]:
    if record.stop is not None or phase is Phase.CANCELLING:
        return StepPhase.RUNNING, Reason.STOPPING
    note = record.job if stage.owns(record.job) else None
    if note is None:
        return (StepPhase.RUNNING if stage.started_at else StepPhase.PENDING), reason
    if any(attempt.attempt == note.attempt for attempt in record.attempts):
        return StepPhase.RETRYING, reason
    if note.pod_uid is not None:
        return StepPhase.RUNNING, Reason.RUNNING
    return (StepPhase.RETRYING if record.attempts else StepPhase.PENDING), reason


def _transition(
    stage: StageRecord, phase: StepPhase, reason: str, message: str, now: datetime
) -> StageRecord:
    changed = replace(stage, phase=phase, reason=str(reason), message=message)
    return changed if phase is stage.phase and stage.changed_at else replace(changed, changed_at=now)


def _finish(stage: StageRecord, end: End, now: datetime) -> StageRecord:
    outcome = end.outcome
    if stage.job is None and outcome.phase is Phase.CANCELLED:
        phase, reason = StepPhase.SKIPPED, str(Reason.RUN_CANCELLED)
    else:
        phase, reason = _STEP_PHASES[outcome.phase], str(outcome.reason)
    finished = _transition(stage, phase, reason, end.message or outcome.message, now)
    return replace(
        finished,
        finished_at=now,
        next_retry_at=None,
        outcome=replace(outcome, result=None, pod_uid=None) if stage.job else None,
        outputs=end.outputs or None,
        loop=_finish_iteration(stage, end, now),
    )


def _finish_iteration(stage: StageRecord, end: End, now: datetime) -> LoopRecord | None:
    """The loop after the end of an iteration."""
    loop = stage.loop
    if loop is None:
        return None
    phase = _STEP_PHASES[end.outcome.phase]
    last = replace(loop.iterations[-1], phase=phase, finished_at=now, message=end.outcome.message)
    stop = end.stop
    if stop is None and phase is StepPhase.FAILED:
        broken = end.outcome.reason == Reason.CONDITION_ERROR
        stop = LoopStop.CONDITION_ERROR if broken else LoopStop.ITERATION_FAILED
    return replace(
        loop,
        iterations=(*loop.iterations[:-1], last),
        completed=loop.completed + (1 if last.job else 0),
        stop_reason=stop,
    )
