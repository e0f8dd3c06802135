"""What is recorded about a child that runs a Job: the values behind its `status`. Decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jangar.api.lifecycle import Ttl
from jangar.api.phases import STEP_TERMINAL, LoopStop, StepPhase
from jangar.domain.cancellation import Cancel, LeftBehind, Stop
from jangar.domain.job_execution.outcome import Outcome
from jangar.domain.job_execution.presence import RecordedJob
from jangar.domain.retention import Retention
from jangar.domain.status_contract import Lifecycle


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLimits:
    """Limits of an attempt, read from the definition when the attempt starts."""

    timeout_seconds: int | None = None
    job_ttl: Ttl | None = None
    retries: int | None = None
    backoff_seconds: int | None = None
    """Between the end of an attempt and the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNote:
    """The Job of the current attempt: recorded by name before it is created, then with what was observed."""

    name: str
    attempt: int
    step: str | None = None
    """Workflow step that the Job belongs to, if any."""
    iteration: int | None = None
    """Iteration of the step's loop, from 1."""
    attempt_limits: AttemptLimits | None = None
    intended_at: datetime | None = None
    """When an attempt after the first was started; its timeout counts from then."""
    started_at: datetime | None = None
    """When such an attempt was first seen running; for the first attempt, the child's own start time counts."""
    since: str | None = None
    """A resourceVersion from before the create was sent."""
    observed_at: datetime | None = None
    uid: str | None = None
    pod_uid: str | None = None
    """The first pod that was seen running; its outcome counts."""

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
    """One iteration of a workflow step."""

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
    """The state of a step's loop; the last iteration is the current one."""

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
    """The state of one workflow step."""

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
        """Whether a Job belongs to this step and its current iteration."""
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
    """The runner's report."""
    stages: tuple[StageRecord, ...] = ()
    """Workflow steps, if any; `job`, `attempts` and `stop` are those of the current step."""
    retention: Retention | None = None

    @property
    def stage(self) -> StageRecord | None:
        """The current or next workflow step; None if the work is a single Job or has ended."""
        return next((item for item in self.stages if not item.is_over), None)
