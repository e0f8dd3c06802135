"""The retention of a finished run: its status fields, and whether the run may be deleted now."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jangar.api.lifecycle import Ttl
from jangar.api.meta import JsonObject
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.retention import (
    WITH_ROOT,
    Delete,
    FinishedRun,
    Keep,
    Kept,
    Resolved,
    Retention,
    is_due,
    job_lifetime,
    may_delete,
    resolve_job_ttl,
    resolve_run_retention,
    retention_document,
    retention_status,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """The operator's retention settings."""

    job_ttl: Keep | None = None
    run_retention: Keep | None = None
    agentrun_retention: Keep | None = None
    history_enabled: bool = False
    lease_duration: timedelta = timedelta(seconds=15)
    request_timeout: timedelta = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRetention:
    """The retention of one run."""

    keeping: Keeping
    is_root: bool
    ttl: Ttl | None

    def document(self, record: RunRecord) -> JsonObject:
        """The value of `status.retention`; empty while the run has not ended."""
        if not record.lifecycle.is_terminal:
            return {}
        return retention_document(self._status(record))

    def verdict(self, record: RunRecord, *, is_stored: Callable[[], bool], now: datetime) -> Delete | Kept:
        """Whether to delete the run now. `is_stored` is called only if nothing else keeps the run."""
        cleaning = any(item.ended_at is None for item in record.left_behind)
        finished_at, keep = record.lifecycle.finished_at, self._resolved.keep
        return may_delete(
            FinishedRun(finished_at=finished_at, keep=keep, cleaning_up=cleaning),
            history_stored=is_due(finished_at, keep, now=now) and is_stored(),
            history_enabled=self.keeping.history_enabled,
            is_root=self.is_root,
            now=now,
        )

    @property
    def _resolved(self) -> Resolved:
        if not self.is_root:
            return WITH_ROOT
        return resolve_run_retention(
            spec_ttl=self.ttl,
            orchestration_retention=self.keeping.run_retention,
            agentrun_retention=self.keeping.agentrun_retention,
        )

    @property
    def _job_ttl(self) -> Resolved:
        """The lifetime of the steps' Jobs, unless a Tool sets one."""
        keeping = self.keeping
        resolved = resolve_job_ttl(tool_ttl=None, configured=keeping.job_ttl)
        lifetime = job_lifetime(
            resolved.keep, lease_duration=keeping.lease_duration, request_timeout=keeping.request_timeout
        )
        return replace(resolved, keep=lifetime)

    def _status(self, record: RunRecord) -> Retention:
        finished_at = record.lifecycle.finished_at
        return retention_status(
            job=self._job_ttl,
            run=self._resolved,
            jobs_ended_at=finished_at,
            finished_at=finished_at,
            history_enabled=self.keeping.history_enabled,
        )
