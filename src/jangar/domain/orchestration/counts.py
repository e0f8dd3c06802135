"""How many steps are in which phase. Knows arithmetic only."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from jangar.api.phases import STEP_TERMINAL, StepPhase
from jangar.domain.orchestration.state import StepState


@dataclass(slots=True, kw_only=True)
class Counts:
    """Steps by phase. Forgiven failures are counted as `ignored`, not as failed."""

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
        """As `status.counts` shows them."""
        named = {phase.value.lower(): self.by_phase.get(phase, 0) for phase in StepPhase}
        named["failed"] -= self.ignored
        return {"total": self.total, **named, "ignored": self.ignored}
