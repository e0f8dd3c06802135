"""How the stages of a course stand: what the Job under way means for its stage, and an end for those after it.

Decides nothing about what comes next; stamps the times of stages and of nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from jangar.api.phases import TERMINAL, LoopStop, Phase, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.work.outcome import Outcome
from jangar.domain.work.record import IterationRecord, LoopRecord, StageRecord, WorkRecord
from jangar.domain.work.workflow import Stage

MOST_ITERATIONS = 50
"""How many iterations of a loop are listed; older ones are counted."""
_STEP_PHASES = {
    Phase.SUCCEEDED: StepPhase.SUCCEEDED,
    Phase.FAILED: StepPhase.FAILED,
    Phase.CANCELLED: StepPhase.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a stage, or an iteration of it, ended."""

    outcome: Outcome
    outputs: Mapping[str, str] | None = None
    stop: LoopStop | None = None
    message: str = ""


def begun(course: Sequence[Stage]) -> tuple[StageRecord, ...]:
    """Before anything has happened."""
    return tuple(
        StageRecord(
            name=each.name,
            loop=LoopRecord(max_iterations=each.loop.max_iterations) if each.loop else None,
        )
        for each in course
    )


def followed(
    record: WorkRecord, phase: Phase, reason: str, message: str, now: datetime
) -> tuple[StageRecord, ...]:
    """The stages of a record whose child now stands so."""
    stage = record.stage
    if stage is None:
        return record.stages
    stage = _with_job(stage, record, now)
    if phase in TERMINAL:
        outcome = record.outcome or Outcome(phase=phase, reason=reason, message=message)
        return _with(record.stages, _ended(stage, End(outcome=outcome, outputs=record.outputs), now), now)
    found, why = _standing(stage, record, phase, reason)
    return _with(record.stages, _moved(stage, found, why, message, now), now)


def ended(record: WorkRecord, end: End, now: datetime) -> tuple[StageRecord, ...]:
    """The stage under way has come to its end, and the child has not."""
    stage = record.stage
    return _with(record.stages, _ended(_with_job(stage, record, now), end, now), now) if stage else ()


def again(
    record: WorkRecord, end: End, control: Mapping[str, Any] | None, now: datetime
) -> tuple[StageRecord, ...]:
    """An iteration of the stage under way has ended, and another one follows."""
    stage = record.stage
    if stage is None or stage.loop is None:
        return record.stages
    stage = _with_job(stage, record, now)
    loop = _iterated(stage, end, now)
    assert loop is not None  # noqa: S101 - it has one
    kept = (*loop.iterations, IterationRecord(index=loop.current + 1))
    dropped = max(0, len(kept) - MOST_ITERATIONS)
    loop = replace(
        loop, iterations=kept[dropped:], pruned=loop.pruned + dropped, last_control=control or None
    )
    return _with(record.stages, replace(stage, loop=loop, attempts=()), now)


def waiting(record: WorkRecord, backoff: timedelta, now: datetime) -> tuple[StageRecord, ...]:
    """An attempt of the stage under way failed, and the next one waits."""
    stage = record.stage
    return _with(record.stages, replace(stage, next_retry_at=now + backoff), now) if stage else ()


def _with(stages: Sequence[StageRecord], changed: StageRecord, now: datetime) -> tuple[StageRecord, ...]:
    """With what follows from it for the stages after it: none of them runs after one that did not succeed."""
    cut = changed.is_over and changed.phase is not StepPhase.SUCCEEDED
    found: list[StageRecord] = []
    is_after = False
    for each in stages:
        if each.name == changed.name:
            found.append(changed)
            is_after = True
        else:
            found.append(_skipped(each, changed, now) if cut and is_after else each)
    return tuple(found)


def _skipped(stage: StageRecord, cause: StageRecord, now: datetime) -> StageRecord:
    cancelled = cause.phase is StepPhase.CANCELLED or cause.reason == Reason.RUN_CANCELLED
    reason = Reason.RUN_CANCELLED if cancelled else Reason.DEPENDENCY_FAILED
    return replace(_moved(stage, StepPhase.SKIPPED, reason, "", now), finished_at=now)


def _with_job(stage: StageRecord, record: WorkRecord, now: datetime) -> StageRecord:
    """With the Job under way, if it is of this stage."""
    if not stage.owns(record.job):
        return stage
    note = record.job
    assert note is not None  # noqa: S101 - it is owned
    started_at = now if note.pod_uid is not None else None
    stage = replace(stage, job=note, attempts=record.attempts, started_at=stage.started_at or started_at)
    if not any(each.attempt == note.attempt for each in record.attempts):
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


def _standing(stage: StageRecord, record: WorkRecord, phase: Phase, reason: str) -> tuple[StepPhase, str]:
    if record.stop is not None or phase is Phase.CANCELLING:
        return StepPhase.RUNNING, Reason.STOPPING
    note = record.job if stage.owns(record.job) else None
    if note is None:
        return (StepPhase.RUNNING if stage.started_at else StepPhase.PENDING), reason
    if any(each.attempt == note.attempt for each in record.attempts):
        return StepPhase.RETRYING, reason
    if note.pod_uid is not None:
        return StepPhase.RUNNING, Reason.RUNNING
    return (StepPhase.RETRYING if record.attempts else StepPhase.PENDING), reason


def _moved(stage: StageRecord, phase: StepPhase, reason: str, message: str, now: datetime) -> StageRecord:
    changed = replace(stage, phase=phase, reason=str(reason), message=message)
    return changed if phase is stage.phase and stage.changed_at else replace(changed, changed_at=now)


def _ended(stage: StageRecord, end: End, now: datetime) -> StageRecord:
    outcome = end.outcome
    if stage.job is None and outcome.phase is Phase.CANCELLED:
        phase, reason = StepPhase.SKIPPED, str(Reason.RUN_CANCELLED)
    else:
        phase, reason = _STEP_PHASES[outcome.phase], str(outcome.reason)
    moved = _moved(stage, phase, reason, end.message or outcome.message, now)
    return replace(
        moved,
        finished_at=now,
        next_retry_at=None,
        outcome=replace(outcome, result=None, pod_uid=None) if stage.job else None,
        outputs=end.outputs or None,
        loop=_iterated(stage, end, now),
    )


def _iterated(stage: StageRecord, end: End, now: datetime) -> LoopRecord | None:
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
