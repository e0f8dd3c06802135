"""What is recorded about a run and its steps: the values behind `status`. Knows no Kubernetes, decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from jangar.api.phases import STEP_TERMINAL, ExecutionMode, StepPhase
from jangar.domain.cancellation.machine import Cancel
from jangar.domain.cancellation.stop import LeftBehind, Stop
from jangar.domain.status_contract import Lifecycle


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An ended attempt."""

    attempt: int
    phase: StepPhase
    reason: str
    message: str = ""
    child: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepState:
    """Where one step is."""

    name: str
    kind: str
    phase: StepPhase = StepPhase.PENDING
    reason: str = ""
    message: str = ""
    attempt: int = 0
    child: str | None = None
    child_uid: str | None = None
    child_hash: str | None = None
    """What the child of this attempt must look like; recorded before it is created."""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempt_started_at: datetime | None = None
    last_transition_time: datetime | None = None
    next_retry_at: datetime | None = None
    outputs: Mapping[str, str] | None = None
    exit_code: int | None = None
    failure_ignored: bool = False
    causes: tuple[str, ...] = ()
    causes_total: int = 0
    attempts: tuple[Attempt, ...] = ()
    stop: Stop | None = None

    @property
    def is_terminal(self) -> bool:
        return self.phase in STEP_TERMINAL

    @property
    def is_live(self) -> bool:
        """Started, and its current attempt has not ended."""
        return self.attempt > 0 and (self.phase is StepPhase.RUNNING or self.phase is StepPhase.PENDING)

    @property
    def is_unstarted(self) -> bool:
        return self.attempt == 0 and self.phase is StepPhase.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """Everything recorded about a run. A new run has an empty one."""

    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    mode: ExecutionMode | None = None
    steps: tuple[StepState, ...] = ()
    cancel: Cancel | None = None
    stop: Stop | None = None
    left_behind: tuple[LeftBehind, ...] = ()
    outputs: Mapping[str, str] | None = None
