"""Which dependencies let a step start, and which make it Skipped. Knows phases and edges; knows nothing of time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from jangar.api.phases import ExecutionMode, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.state import StepState

MAX_CAUSES = 10


def releases(state: StepState, mode: ExecutionMode) -> bool:
    """Whether a dependency in this state lets its dependents start.

    A list passes over a step whose own condition is false; in a graph that step's dependents are skipped.
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
    """Whether a dependency in this state makes its dependents Skipped: it ended, and did not end well enough."""
    return state.is_terminal and not releases(state, mode)


def is_unforgiven(state: StepState) -> bool:
    """Whether the step fails the run: failed and not forgiven, or cancelled by hand."""
    if state.phase is StepPhase.FAILED:
        return not state.failure_ignored
    return state.phase is StepPhase.CANCELLED and state.reason == Reason.CHILD_CANCELLED


def was_interrupted(state: StepState) -> bool:
    """Whether a cancel of the run ended the step."""
    if state.phase is StepPhase.CANCELLED:
        return state.reason != Reason.CHILD_CANCELLED
    return state.phase is StepPhase.SKIPPED and state.reason == Reason.RUN_CANCELLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """The nearest ancestors that a skipped step is skipped for, by index in list order."""

    failed: tuple[int, ...] = ()
    skipped_by_condition: tuple[int, ...] = ()
    """Steps whose own condition was false."""

    @property
    def reason(self) -> Reason:
        return Reason.DEPENDENCY_FAILED if self.failed else Reason.DEPENDENCY_SKIPPED

    @property
    def causes(self) -> tuple[int, ...]:
        return self.failed or self.skipped_by_condition


def roots_of(
    needs: Iterable[int],
    states: Sequence[StepState],
    mode: ExecutionMode,
    known: Callable[[int], Roots],
) -> Roots:
    """Why a step with these needs is skipped. `known` tells the roots of a need that was itself skipped."""
    found = [_root(need, states[need], known) for need in needs if blocks_dependents(states[need], mode)]
    first = found[0]
    if all(item == first for item in found):
        return first
    return Roots(
        failed=tuple(sorted({index for item in found for index in item.failed})),
        skipped_by_condition=tuple(sorted({index for item in found for index in item.skipped_by_condition})),
    )


def _root(index: int, state: StepState, known: Callable[[int], Roots]) -> Roots:
    if state.phase is not StepPhase.SKIPPED:
        return Roots(failed=(index,))
    if state.reason == Reason.CONDITION_FALSE:
        return Roots(skipped_by_condition=(index,))
    return known(index)
