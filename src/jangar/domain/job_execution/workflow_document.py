"""Workflow steps as the JSON of `status.workflow`, and back."""

from collections.abc import Mapping
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import STEP_TERMINAL, LoopStop, Phase, StepPhase
from jangar.domain.job_execution.job_document import (
    attempt_document,
    ended_work,
    job_document,
    job_note,
    outcome_document,
    outcome_from,
    present,
)
from jangar.domain.job_execution.record import IterationRecord, JobNote, LoopRecord, StageRecord, WorkRecord
from jangar.domain.status_contract import time_from, time_to


def workflow_document(record: WorkRecord, *, namespace: str) -> JsonObject | None:
    """None where the work is one Job."""
    if not record.stages:
        return None
    times = [stage.changed_at for stage in record.stages if stage.changed_at]
    return present(
        {
            "phase": str(record.lifecycle.phase or Phase.PENDING),
            "lastTransitionTime": time_to(max(times, default=None)),
            "steps": [_stage_document(stage, namespace) for stage in record.stages],
        }
    )


def workflow_stages(document: Mapping[str, Any]) -> tuple[StageRecord, ...]:
    """Read back. Raises ValueError for what no writer of ours wrote."""
    return tuple(_stage(step) for step in document.get("steps") or ())


def legacy_step_job(document: Mapping[str, Any]) -> JobNote | None:
    """The Job of a workflow that an older controller version started: the latest one of its current step."""
    for step in document.get("steps") or ():
        if (step.get("phase") or StepPhase.PENDING) not in STEP_TERMINAL:
            return _legacy_note(step)
    return None


def _stage_document(stage: StageRecord, namespace: str) -> JsonObject:
    job = stage.job
    return present(
        {
            "name": stage.name,
            "phase": str(stage.phase),
            "reason": stage.reason or None,
            "message": stage.message or None,
            "attempt": job.attempt if job else 0,
            "startedAt": time_to(stage.started_at),
            "finishedAt": time_to(stage.finished_at),
            "lastTransitionTime": time_to(stage.changed_at),
            "nextRetryAt": time_to(stage.next_retry_at),
            "job": job and job_document(job),
            "jobRef": job and _reference(job.name, job.uid, namespace),
            "jobObservedAt": time_to(job.observed_at) if job else None,
            "outcome": stage.outcome and outcome_document(stage.outcome, stage.outputs),
            "attempts": [attempt_document(attempt) for attempt in stage.attempts] or None,
            "loop": stage.loop and _loop_document(stage.loop, namespace),
        }
    )


def _stage(document: Mapping[str, Any]) -> StageRecord:
    outcome, loop = document.get("outcome"), document.get("loop")
    return StageRecord(
        name=document["name"],
        phase=StepPhase(document.get("phase") or StepPhase.PENDING),
        reason=document.get("reason") or "",
        message=document.get("message") or "",
        started_at=time_from(document, "startedAt"),
        finished_at=time_from(document, "finishedAt"),
        changed_at=time_from(document, "lastTransitionTime"),
        next_retry_at=time_from(document, "nextRetryAt"),
        job=job_note(document["job"]) if document.get("job") else _legacy_note(document),
        attempts=tuple(ended_work(attempt) for attempt in document.get("attempts") or ()),
        outcome=outcome_from(outcome) if outcome else None,
        outputs=(outcome or {}).get("outputs") or None,
        loop=_loop(loop) if loop else None,
    )


def _legacy_note(step: Mapping[str, Any]) -> JobNote | None:
    reference = step.get("jobRef") or {}
    if not reference.get("name"):
        return None
    loop = step.get("loop") or {}
    seen_at = time_from(step, "jobObservedAt") or time_from(step, "startedAt")
    return JobNote(
        name=reference["name"],
        attempt=step.get("attempt") or 1,
        step=step["name"],
        iteration=(loop.get("currentIteration") or 1) if loop else None,
        intended_at=time_from(step, "startedAt"),
        uid=reference.get("uid"),
        observed_at=seen_at,
    )


def _reference(name: str, uid: str | None, namespace: str) -> JsonObject:
    return present({"name": name, "namespace": namespace, "uid": uid})


def _loop_document(loop: LoopRecord, namespace: str) -> JsonObject:
    return present(
        {
            "currentIteration": loop.current,
            "completedIterations": loop.completed,
            "maxIterations": loop.max_iterations,
            "stopReason": str(loop.stop_reason) if loop.stop_reason else None,
            "retainedIterations": len(loop.iterations),
            "prunedIterations": loop.pruned,
            "lastControl": dict(loop.last_control) if loop.last_control else None,
            "iterations": [_iteration_document(iteration, namespace) for iteration in loop.iterations],
        }
    )


def _loop(document: Mapping[str, Any]) -> LoopRecord:
    stop = document.get("stopReason")
    listed = tuple(_iteration(iteration) for iteration in document.get("iterations") or ())
    return LoopRecord(
        max_iterations=document.get("maxIterations") or 1,
        completed=document.get("completedIterations") or 0,
        stop_reason=LoopStop(stop) if stop else None,
        pruned=document.get("prunedIterations") or 0,
        last_control=document.get("lastControl") or None,
        iterations=listed or (IterationRecord(index=document.get("currentIteration") or 1),),
    )


def _iteration_document(each: IterationRecord, namespace: str) -> JsonObject:
    return present(
        {
            "index": each.index,
            "phase": str(each.phase),
            "attempts": each.attempts,
            "startedAt": time_to(each.started_at),
            "finishedAt": time_to(each.finished_at),
            "message": each.message or None,
            "jobRef": _reference(each.job, each.job_uid, namespace) if each.job else None,
        }
    )


def _iteration(document: Mapping[str, Any]) -> IterationRecord:
    reference = document.get("jobRef") or {}
    return IterationRecord(
        index=document["index"],
        phase=StepPhase(document.get("phase") or StepPhase.PENDING),
        attempts=document.get("attempts") or 0,
        started_at=time_from(document, "startedAt"),
        finished_at=time_from(document, "finishedAt"),
        message=document.get("message") or "",
        job=reference.get("name"),
        job_uid=reference.get("uid"),
    )
