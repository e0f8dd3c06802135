"""A run over time: a bar for each attempt of each step."""

from dataclasses import dataclass
from datetime import datetime

from jangar.api.phases import StepPhase
from jangar.domain.orchestration.state import RunRecord, StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One attempt of a step. A bar without an end is still running."""

    step: str
    attempt: int
    phase: StepPhase
    reason: str
    started_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Bars in the order in which they began; list order among equals."""

    started_at: datetime | None
    finished_at: datetime | None
    bars: tuple[Bar, ...]


def run_timeline(record: RunRecord) -> Timeline:
    """Every started attempt of a run."""
    bars = [bar for state in record.steps for bar in _bars(state)]
    return Timeline(
        started_at=record.lifecycle.started_at,
        finished_at=record.lifecycle.finished_at,
        bars=tuple(sorted(bars, key=lambda bar: bar.started_at)),
    )


def _bars(state: StepState) -> list[Bar]:
    bars = [
        Bar(
            step=state.name,
            attempt=ended.attempt,
            phase=ended.phase,
            reason=str(ended.reason),
            started_at=ended.started_at,
            finished_at=ended.finished_at,
        )
        for ended in state.attempts
        if ended.started_at is not None
    ]
    is_current = state.attempt > len(state.attempts)
    if is_current and state.attempt_started_at is not None:
        bars.append(
            Bar(
                step=state.name,
                attempt=state.attempt,
                phase=state.phase,
                reason=str(state.reason),
                started_at=state.attempt_started_at,
                finished_at=state.finished_at,
            )
        )
    return bars
