"""A Job, an attempt and an end as the JSON of `status`, and back. Knows the field names; `api/jobs` declares them."""

from collections.abc import Mapping
from typing import Any

from jangar.api.meta import JsonObject
from jangar.api.phases import Phase
from jangar.domain.job_execution.outcome import Outcome
from jangar.domain.job_execution.record import AttemptLimits, EndedWork, JobNote
from jangar.domain.status_contract import time_from, time_to


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
