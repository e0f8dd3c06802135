"""What is recorded about a child that runs a Job: the values behind its `status`. Decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jangar.api.lifecycle import Ttl
from jangar.api.phases import STEP_TERMINAL, LoopStop, StepPhase
from jangar.domain.cancellation.machine import Cancel
from jangar.domain.cancellation.stop import LeftBehind, Stop
from jangar.domain.retention.decide import Retention
from jangar.domain.status_contract import Lifecycle
from jangar.domain.work.outcome import Outcome
from jangar.domain.work.presence import RecordedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLimits:
    """What the definition that is run says about an attempt; it is read once for each."""

    timeout_seconds: int | None = None
    job_ttl: Ttl | None = None
    retries: int | None = None
    backoff_seconds: int | None = None
    """Between the end of an attempt and the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNote:
    """The Job of the current attempt: its name before it is created, then what was seen of it."""

    name: str
    attempt: int
    step: str | None = None
    """Stage of the course that it belongs to, where there is one."""
    iteration: int | None = None
    """Number within the stage's loop, from 1."""
    terms: AttemptLimits | None = None
    intended_at: datetime | None = None
    """When an attempt after the first was begun: its own time limit counts from there."""
    started_at: datetime | None = None
    """When such an attempt was first seen to run; that of the first is the child's."""
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
class IterationRecord:
    """One run of a stage that is repeated."""

    index: int
    phase: StepPhase = StepPhase.PENDING
    attempts: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    message: str = ""
    job: str | None = None
    job_uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRecord:
    """How the loop of a stage is doing; its last iteration is the one under way."""

    max_iterations: int
    completed: int = 0
    stop_reason: LoopStop | None = None
    pruned: int = 0
    """How many older iterations are not listed any more."""
    last_control: Mapping[str, Any] | None = None
    iterations: tuple[IterationRecord, ...] = (IterationRecord(index=1),)

    @property
    def current(self) -> int:
        return self.iterations[-1].index


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """How one stage of a course is doing."""

    name: str
    phase: StepPhase = StepPhase.PENDING
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    changed_at: datetime | None = None
    next_retry_at: datetime | None = None
    job: JobNote | None = None
    attempts: tuple[EndedWork, ...] = ()
    outcome: Outcome | None = None
    outputs: Mapping[str, str] | None = None
    loop: LoopRecord | None = None

    @property
    def is_over(self) -> bool:
        return self.phase in STEP_TERMINAL

    @property
    def iteration(self) -> int | None:
        return self.loop.current if self.loop else None

    def owns(self, note: JobNote | None) -> bool:
        """Whether a Job is of this stage, and of the iteration that it is at."""
        return note is not None and (note.step, note.iteration) == (self.name, self.iteration)


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
    runner: Mapping[str, Any] | None = None
    """What the runner in the container reported of the end."""
    stages: tuple[StageRecord, ...] = ()
    """Where the work is a course: `job`, `attempts` and `stop` are those of the stage under way."""
    retention: Retention | None = None

    @property
    def stage(self) -> StageRecord | None:
        """The stage under way or next; none where the work is one Job, or over."""
        return next((each for each in self.stages if not each.is_over), None)
