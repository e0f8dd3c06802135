"""The outcome of a run as plain values, so that a prediction and a simulation can be compared field by field."""

from collections import Counter
from dataclasses import dataclass

from support.reference_scheduler import Expected
from support.simulator import Simulation

MAX_CAUSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    """The outcome of a step."""

    phase: str
    reason: str
    children: int
    causes: tuple[str, ...] = ()
    causes_total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a run."""

    phase: str
    reason: str
    steps: dict[str, StepOutcome]
    left_behind: frozenset[tuple[str, int]]


def expected_outcome(expected: Expected) -> Outcome:
    """The prediction of the reference scheduler."""
    names = [step.script.name for step in expected.steps]
    steps = {
        step.script.name: StepOutcome(
            phase=step.phase,
            reason="" if step.phase == "Succeeded" else step.reason,
            children=step.children,
            causes=tuple(names[cause] for cause in step.causes[:MAX_CAUSES]),
            causes_total=len(step.causes),
        )
        for step in expected.steps
    }
    return Outcome(
        phase=expected.phase,
        reason=expected.reason,
        steps=steps,
        left_behind=frozenset(expected.left_behind),
    )


def recorded_outcome(simulation: Simulation) -> Outcome:
    """The final record, and the actual number of children."""
    recorded, children = simulation.recorded, simulation.world.children.values()
    created = Counter(child.step for child in children)
    left = {item.name for item in recorded.left_behind}
    steps = {
        state.name: StepOutcome(
            phase=str(state.phase),
            reason="" if state.phase == "Succeeded" else str(state.reason),
            children=created[state.name],
            causes=state.causes,
            causes_total=state.causes_total,
        )
        for state in recorded.steps
    }
    return Outcome(
        phase=str(recorded.lifecycle.phase),
        reason=str(recorded.lifecycle.reason),
        steps=steps,
        left_behind=frozenset((child.step, child.number) for child in children if child.name in left),
    )


def untimed(outcome: Outcome) -> tuple[str, dict[str, tuple[str, int]]]:
    """Fields independent of the order of observation: phases and the number of attempts."""
    return outcome.phase, {name: (step.phase, step.children) for name, step in outcome.steps.items()}
