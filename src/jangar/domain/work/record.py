"""What is recorded about a child that runs a Job: the values behind its `status`. Decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from jangar.api.lifecycle import Ttl
from jangar.domain.cancellation.machine import Cancel
from jangar.domain.cancellation.stop import LeftBehind, Stop
from jangar.domain.retention.decide import Retention
from jangar.domain.status_contract import Lifecycle
from jangar.domain.work.outcome import Outcome
from jangar.domain.work.presence import RecordedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the definition that is run says about an attempt; it is read once for each."""

    timeout_seconds: int | None = None
    job_ttl: Ttl | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNote:
    """The Job of the current attempt: its name before it is created, then what was seen of it."""

    name: str
    attempt: int
    terms: Terms | None = None
    since: str | None = None
    """A version of the API server's data before the create was sent."""
    observed_at: datetime | None = None
    uid: str | None = None
    pod_uid: str | None = None
    """The first pod that was seen to run; its outcome counts."""

    @property
    def recorded(self) -> RecordedJob:
        return RecordedJob(
            name=self.name, attempt=self.attempt, observed=self.observed_at is not None, uid=self.uid
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedWork:
    """An attempt before the current one."""

    attempt: int
    job: str
    outcome: Outcome
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRecord:
    """Everything recorded about such a child. A new one has an empty record."""

    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    cancel: Cancel | None = None
    stop: Stop | None = None
    left_behind: tuple[LeftBehind, ...] = ()
    job: JobNote | None = None
    attempts: tuple[EndedWork, ...] = ()
    outcome: Outcome | None = None
    outputs: Mapping[str, str] | None = None
    retention: Retention | None = None
