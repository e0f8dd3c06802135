"""The record of a child's work as the JSON of `status`, and back. Knows the field names; `api/tools` declares them.

What is not set is left out, so that a status holds what is known and nothing else.
"""

from collections.abc import Mapping
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import DefinitionPhase, Phase
from jangar.domain.cancellation.documents import (
    cancel_document,
    cancel_from,
    left_behind_from,
    stop_document,
    stop_from,
)
from jangar.domain.retention.documents import retention_document, retention_from
from jangar.domain.status_contract import LIFECYCLE_FIELDS, lifecycle_from, lifecycle_to, time_from, time_to
from jangar.domain.work.outcome import Outcome
from jangar.domain.work.record import EndedWork, JobNote, Terms, WorkRecord

WORK_FIELDS = LIFECYCLE_FIELDS | {
    "runId",
    "runtimeRef",
    "job",
    "attempts",
    "outcome",
    "outputs",
    "cancel",
    "stop",
    "retention",
}
"""Status fields that a record accounts for; others are kept as they are."""


def work_document(record: WorkRecord, *, name: str, namespace: str) -> JsonObject:
    """The status of a child."""
    return lifecycle_to(record.lifecycle) | _present(
        {
            "runId": name,
            "runtimeRef": record.job
            and _present(
                {"type": "job", "name": record.job.name, "namespace": namespace, "uid": record.job.uid}
            ),
            "job": record.job and _job_document(record.job),
            "attempts": [_attempt_document(each) for each in record.attempts] or None,
            "outcome": record.outcome and _outcome_document(record.outcome, record.outputs),
            "outputs": dict(record.outputs) if record.outputs else None,
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
        lifecycle=lifecycle_from(_of_a_child(status)),
        cancel=cancel_from(cancel),
        stop=stop_from(status.get("stop")),
        left_behind=left_behind_from(cancel),
        job=_job(status["job"]) if status.get("job") else _older_job(status),
        attempts=tuple(_attempt(each) for each in status.get("attempts") or ()),
        outcome=_outcome(outcome) if outcome else None,
        outputs=status.get("outputs") or None,
        retention=retention_from(status["retention"]) if status.get("retention") else None,
    )


def _of_a_child(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The existing system stamps Ready on ToolRuns that nothing has happened to yet."""
    return {**status, "phase": None} if status.get("phase") == DefinitionPhase.READY else status


def _job_document(job: JobNote) -> JsonObject:
    return _present(
        {
            "name": job.name,
            "attempt": job.attempt,
            "terms": job.terms and _terms_document(job.terms),
            "since": job.since,
            "observedAt": time_to(job.observed_at),
            "uid": job.uid,
            "podUid": job.pod_uid,
        }
    )


def _job(document: Mapping[str, Any]) -> JobNote:
    return JobNote(
        name=document["name"],
        attempt=document["attempt"],
        terms=_terms(document["terms"]) if document.get("terms") is not None else None,
        since=document.get("since"),
        observed_at=time_from(document, "observedAt"),
        uid=document.get("uid"),
        pod_uid=document.get("podUid"),
    )


def _terms_document(terms: Terms) -> JsonObject:
    return _present(
        {"timeoutSeconds": terms.timeout_seconds, "ttlSecondsAfterFinished": terms.job_ttl},
    )


def _terms(document: Mapping[str, Any]) -> Terms:
    return Terms(
        timeout_seconds=document.get("timeoutSeconds"), job_ttl=document.get("ttlSecondsAfterFinished")
    )


def _older_job(status: Mapping[str, Any]) -> JobNote | None:
    """The Job of a child that an older controller started: it is not started a second time."""
    reference = status.get("runtimeRef") or {}
    if reference.get("type") != "job" or not reference.get("name"):
        return None
    seen_at = time_from(status, "startedAt") or time_from(status, "updatedAt")
    return JobNote(name=reference["name"], attempt=1, uid=reference.get("uid"), observed_at=seen_at)


def _attempt_document(ended: EndedWork) -> JsonObject:
    return _present(
        {
            "attempt": ended.attempt,
            "job": ended.job,
            "uid": ended.uid,
            "outcome": _outcome_document(ended.outcome, None),
        }
    )


def _attempt(document: Mapping[str, Any]) -> EndedWork:
    return EndedWork(
        attempt=document["attempt"],
        job=document.get("job") or "",
        uid=document.get("uid"),
        outcome=_outcome(document["outcome"]),
    )


def _outcome_document(outcome: Outcome, outputs: Mapping[str, str] | None) -> JsonObject:
    """What the program returned stands here as outputs, not as it was written."""
    return _present(
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


def _outcome(document: Mapping[str, Any]) -> Outcome:
    return Outcome(
        phase=Phase(document["phase"]),
        reason=document["reason"],
        message=document.get("message") or "",
        exit_code=document.get("exitCode"),
        started_at=time_from(document, "startedAt"),
        finished_at=time_from(document, "finishedAt"),
    )


def _present(document: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in document.items() if value is not None}
