"""A run in a list: one line."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jangar.api.phases import Phase
from jangar.domain.orchestration.state import Counts, RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RunIdentity:
    """The identity of a run."""

    namespace: str
    name: str
    uid: str
    created_at: datetime
    orchestration: str | None = None
    """None for a run with an inline definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run in a list."""

    namespace: str
    name: str
    uid: str
    orchestration: str | None
    phase: Phase
    reason: str
    message: str
    steps_ended: int
    steps_total: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    duration: timedelta | None
    """From the start to the end, or to now; None before the start."""

    @property
    def steps(self) -> str:
        """`3/7`."""
        return f"{self.steps_ended}/{self.steps_total}"


def run_row(identity: RunIdentity, record: RunRecord, *, now: datetime) -> RunRow:
    """The row of a run."""
    lifecycle, counts = record.lifecycle, Counts.of(record.steps)
    return RunRow(
        namespace=identity.namespace,
        name=identity.name,
        uid=identity.uid,
        orchestration=identity.orchestration,
        phase=lifecycle.phase or Phase.PENDING,
        reason=lifecycle.reason or "",
        message=lifecycle.message or "",
        steps_ended=counts.ended,
        steps_total=counts.total,
        created_at=identity.created_at,
        started_at=lifecycle.started_at,
        finished_at=lifecycle.finished_at,
        duration=elapsed(lifecycle.started_at, lifecycle.finished_at, now=now),
    )


def elapsed(started_at: datetime | None, finished_at: datetime | None, *, now: datetime) -> timedelta | None:
    """The duration, until now if it has not ended; never negative."""
    if started_at is None:
        return None
    return max((finished_at or now) - started_at, timedelta(0))
