"""Retention as the JSON of `status`, and back. The same for runs and children."""

from collections.abc import Mapping
from typing import Any

from jangar.api.meta import JsonObject
from jangar.domain.retention.decide import History, Retention
from jangar.domain.status_contract import time_from, time_to


def retention_document(retention: Retention) -> JsonObject:
    """As `status.retention`; what is not set is left out."""
    document = {
        "jobTtlSeconds": retention.job_ttl_seconds,
        "jobExpiresAt": time_to(retention.job_expires_at),
        "jobSource": retention.job_source and str(retention.job_source),
        "runRetentionSeconds": retention.run_retention_seconds,
        "runExpiresAt": time_to(retention.run_expires_at),
        "runSource": retention.run_source and str(retention.run_source),
        "history": retention.history and str(retention.history),
    }
    return {name: value for name, value in document.items() if value is not None}


def retention_from(document: Mapping[str, Any]) -> Retention:
    """Read back."""
    return Retention(
        job_ttl_seconds=document.get("jobTtlSeconds"),
        job_expires_at=time_from(document, "jobExpiresAt"),
        job_source=document.get("jobSource"),
        run_retention_seconds=document.get("runRetentionSeconds"),
        run_expires_at=time_from(document, "runExpiresAt"),
        run_source=document.get("runSource"),
        history=History(document["history"]) if document.get("history") in set(History) else None,
    )
