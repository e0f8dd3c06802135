"""The record of a child's work as the JSON of `status`, and back. Unset fields are omitted."""

from collections.abc import Mapping
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import DefinitionPhase
from jangar.domain.cancellation.documents import (
    cancel_document,
    cancel_from,
    left_behind_from,
    stop_document,
    stop_from,
)
from jangar.domain.job_execution.job_document import (
    attempt_document,
    ended_work,
    job_document,
    job_note,
    outcome_document,
    outcome_from,
    present,
)
from jangar.domain.job_execution.record import JobNote, WorkRecord
from jangar.domain.job_execution.report import artifacts_of
from jangar.domain.job_execution.workflow_document import legacy_step_job, workflow_document, workflow_stages
from jangar.domain.retention.documents import retention_document, retention_from
from jangar.domain.status_contract import LIFECYCLE_FIELDS, lifecycle_from, lifecycle_to, time_from

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
