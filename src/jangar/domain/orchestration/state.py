"""The recorded state of a run and its steps, and predicates of a step's state."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from jangar.api.phases import STEP_TERMINAL, ExecutionMode, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Cancel, LeftBehind, Stop
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
    """The state of one step."""

    name: str
    kind: str
    phase: StepPhase = StepPhase.PENDING
    reason: str = ""
    message: str = ""
    attempt: int = 0
    child: str | None = None
    child_uid: str | None = None
    child_hash: str | None = None
    """Hash of the child of this attempt, recorded before the child is created."""
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
    """The record of a run. A new run has an empty one."""

    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    mode: ExecutionMode | None = None
    steps: tuple[StepState, ...] = ()
    cancel: Cancel | None = None
    stop: Stop | None = None
    left_behind: tuple[LeftBehind, ...] = ()
    outputs: Mapping[str, str] | None = None


@dataclass(slots=True, kw_only=True)
class Counts:
    """Steps by phase. Ignored failures are counted as `ignored`, not as failed."""

    by_phase: dict[StepPhase, int]
    ignored: int = 0

    @classmethod
    def of(cls, states: Iterable[StepState]) -> "Counts":
        states = list(states)
        return cls(
            by_phase=dict(Counter(state.phase for state in states)),
            ignored=sum(state.failure_ignored for state in states),
        )

    def copy(self) -> "Counts":
        return Counts(by_phase=self.by_phase.copy(), ignored=self.ignored)

    def move(self, old: StepState, new: StepState) -> None:
        self.by_phase[old.phase] -= 1
        self.by_phase[new.phase] = self.by_phase.get(new.phase, 0) + 1
        self.ignored += new.failure_ignored - old.failure_ignored

    @property
    def total(self) -> int:
        return sum(self.by_phase.values())

    @property
    def ended(self) -> int:
        return sum(self.by_phase.get(phase, 0) for phase in STEP_TERMINAL)

    def document(self) -> dict[str, int]:
        """The value of `status.counts`."""
        named = {phase.value.lower(): self.by_phase.get(phase, 0) for phase in StepPhase}
        named["failed"] -= self.ignored
        return {"total": self.total, **named, "ignored": self.ignored}


def releases(state: StepState, mode: ExecutionMode) -> bool:
    """Whether a dependency in this state lets its dependents start.

    A list continues after a step whose own condition is false; in a graph that step's dependents are skipped.
    """
    match state.phase:
        case StepPhase.SUCCEEDED:
            return True
        case StepPhase.FAILED:
            return state.failure_ignored
        case StepPhase.SKIPPED:
            return mode is ExecutionMode.SEQUENTIAL and state.reason == Reason.CONDITION_FALSE
        case _:
            return False


def blocks_dependents(state: StepState, mode: ExecutionMode) -> bool:
    """Whether a dependency in this state causes its dependents to be Skipped: it ended without releasing them."""
    return state.is_terminal and not releases(state, mode)


def is_unforgiven(state: StepState) -> bool:
    """Whether the step fails the run: a failure that is not ignored, or a child that was cancelled directly."""
    if state.phase is StepPhase.FAILED:
        return not state.failure_ignored
    return state.phase is StepPhase.CANCELLED and state.reason == Reason.CHILD_CANCELLED


def was_interrupted(state: StepState) -> bool:
    """Whether a cancel of the run ended the step."""
    if state.phase is StepPhase.CANCELLED:
        return state.reason != Reason.CHILD_CANCELLED
    return state.phase is StepPhase.SKIPPED and state.reason == Reason.RUN_CANCELLED
