"""The record of a child's work as the JSON of `status`, and back. Unset fields are omitted."""

from collections.abc import Mapping
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import STEP_TERMINAL, DefinitionPhase, LoopStop, Phase, StepPhase
from jangar.domain.cancellation import (
    cancel_document,
    cancel_from,
    left_behind_from,
    stop_document,
    stop_from,
)
from jangar.domain.job_execution.outcome import Outcome, artifacts_of
from jangar.domain.job_execution.record import (
    AttemptLimits,
    EndedWork,
    IterationRecord,
    JobNote,
    LoopRecord,
    StageRecord,
    WorkRecord,
)
from jangar.domain.retention import retention_document, retention_from
from jangar.domain.status_contract import LIFECYCLE_FIELDS, lifecycle_from, lifecycle_to, time_from, time_to


def job_document(job: JobNote) -> JsonObject:
    return present(
        {
            "name": job.name,
            "attempt": job.attempt,
            "step": job.step,
            "iteration": job.iteration,
            "terms": job.attempt_limits and _limits_document(job.attempt_limits),
            "intendedAt": time_to(job.intended_at),
            "startedAt": time_to(job.started_at),
            "since": job.since,
            "observedAt": time_to(job.observed_at),
            "uid": job.uid,
            "podUid": job.pod_uid,
        }
    )


def job_note(document: Mapping[str, Any]) -> JobNote:
    return JobNote(
        name=document["name"],
        attempt=document["attempt"],
        step=document.get("step"),
        iteration=document.get("iteration"),
        attempt_limits=_limits(document["terms"]) if document.get("terms") is not None else None,
        intended_at=time_from(document, "intendedAt"),
        started_at=time_from(document, "startedAt"),
        since=document.get("since"),
        observed_at=time_from(document, "observedAt"),
        uid=document.get("uid"),
        pod_uid=document.get("podUid"),
    )


def _limits_document(attempt_limits: AttemptLimits) -> JsonObject:
    return present(
        {
            "timeoutSeconds": attempt_limits.timeout_seconds,
            "ttlSecondsAfterFinished": attempt_limits.job_ttl,
            "retries": attempt_limits.retries,
            "retryBackoffSeconds": attempt_limits.backoff_seconds,
        }
    )


def _limits(document: Mapping[str, Any]) -> AttemptLimits:
    return AttemptLimits(
        timeout_seconds=document.get("timeoutSeconds"),
        job_ttl=document.get("ttlSecondsAfterFinished"),
        retries=document.get("retries"),
        backoff_seconds=document.get("retryBackoffSeconds"),
    )


def attempt_document(ended: EndedWork) -> JsonObject:
    return present(
        {
            "attempt": ended.attempt,
            "job": ended.job,
            "uid": ended.uid,
            "outcome": outcome_document(ended.outcome, None),
        }
    )


def ended_work(document: Mapping[str, Any]) -> EndedWork:
    return EndedWork(
        attempt=document["attempt"],
        job=document.get("job") or "",
        uid=document.get("uid"),
        outcome=outcome_from(document["outcome"]),
    )


def outcome_document(outcome: Outcome, outputs: Mapping[str, str] | None) -> JsonObject:
    """What the program returned stands here as outputs, not as it was written."""
    return present(
        {
            "phase": str(outcome.phase),
            "reason": str(outcome.reason),
            "message": outcome.message or None,
            "exitCode": outcome.exit_code,
            "startedAt": time_to(outcome.started_at),
            "finishedAt": time_to(outcome.finished_at),
            "outputs": dict(outputs) if outputs else None,
        }
    )


def outcome_from(document: Mapping[str, Any]) -> Outcome:
    return Outcome(
        phase=Phase(document["phase"]),
        reason=document["reason"],
        message=document.get("message") or "",
        exit_code=document.get("exitCode"),
        started_at=time_from(document, "startedAt"),
        finished_at=time_from(document, "finishedAt"),
    )


def present(document: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in document.items() if value is not None}


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


WORK_FIELDS = LIFECYCLE_FIELDS | {
    "runId",
    "runtimeRef",
    "job",
    "attempts",
    "outcome",
    "outputs",
    "workflow",
    "runner",
    "artifacts",
    "cancel",
    "stop",
    "retention",
}
"""Status fields that a record accounts for; others are kept as they are."""


def work_document(record: WorkRecord, *, name: str, namespace: str) -> JsonObject:
    """The status of a child."""
    return lifecycle_to(record.lifecycle) | present(
        {
            "runId": name,
            "runtimeRef": record.job and _runtime_document(record.job, namespace),
            "job": record.job and job_document(record.job),
            "attempts": [attempt_document(attempt) for attempt in record.attempts] or None,
            "outcome": record.outcome and outcome_document(record.outcome, record.outputs),
            "outputs": dict(record.outputs) if record.outputs else None,
            "workflow": workflow_document(record, namespace=namespace),
            "runner": dict(record.runner) if record.runner else None,
            "artifacts": artifacts_of(record.runner) or None,
            "cancel": cancel_document(record.cancel, record.left_behind) or None,
            "stop": record.stop and stop_document(record.stop),
            "retention": record.retention and retention_document(record.retention),
        }
    )


def work_record(status: Mapping[str, Any]) -> WorkRecord:
    """Read back. Raises ValueError for what no writer of ours wrote."""
    cancel = status.get("cancel") or {}
    outcome = status.get("outcome") or None
    return WorkRecord(
        lifecycle=lifecycle_from(_without_definition_phase(status)),
        cancel=cancel_from(cancel),
        stop=stop_from(status.get("stop")),
        left_behind=left_behind_from(cancel),
        job=job_note(status["job"]) if status.get("job") else _legacy_job(status),
        attempts=tuple(ended_work(attempt) for attempt in status.get("attempts") or ()),
        outcome=outcome_from(outcome) if outcome else None,
        outputs=status.get("outputs") or None,
        runner=status.get("runner") or None,
        stages=workflow_stages(status.get("workflow") or {}),
        retention=retention_from(status["retention"]) if status.get("retention") else None,
    )


def _without_definition_phase(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Legacy controllers set phase Ready on ToolRuns that have not started."""
    return {**status, "phase": None} if status.get("phase") == DefinitionPhase.READY else status


def _runtime_document(job: JobNote, namespace: str) -> JsonObject:
    return present(
        {
            "type": "workflow" if job.step else "job",
            "name": job.name,
            "namespace": namespace,
            "uid": job.uid,
            "stepName": job.step,
        }
    )


def _legacy_job(status: Mapping[str, Any]) -> JobNote | None:
    """The Job of a child that an older controller version started; it must not be started again."""
    if status.get("workflow"):
        return legacy_step_job(status["workflow"])
    reference = status.get("runtimeRef") or {}
    if reference.get("type") != "job" or not reference.get("name"):
        return None
    observed_at = time_from(status, "startedAt") or time_from(status, "updatedAt")
    return JobNote(name=reference["name"], attempt=1, uid=reference.get("uid"), observed_at=observed_at)
