"""The workflow of a child with several Jobs: steps in sequence, each repeated by its loop."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jangar.api.phases import LoopStop, Phase
from jangar.domain.orchestration.definition import Condition

CONTROL = "control"
"""Member of the runner's report: the content of the loop control file."""
CONTROL_PROBLEM = "controlProblem"
"""Member of the runner's report: why there is no control file."""
MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """How often a step is repeated."""

    max_iterations: int
    condition: Condition | None = None
    """Evaluated after each iteration but the last; without one, all iterations run."""
    needs_control: bool = False
    """Whether the condition reads the iteration's control file."""
    stops_if_missing: bool = True
    stops_if_invalid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStep:
    """One step of the workflow."""

    name: str
    loop: Loop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Another iteration follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDone:
    """The loop ended successfully."""

    reason: LoopStop
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFailed:
    """The loop condition cannot be evaluated."""

    message: str


def after_iteration(
    loop: Loop, index: int, report: Mapping[str, Any] | None
) -> Continue | LoopDone | LoopFailed:
    """What follows an iteration that succeeded; `index` counts from 1, `report` is the runner's."""
    if index >= loop.max_iterations:
        return LoopDone(reason=LoopStop.MAX_ITERATIONS_REACHED)
    if loop.condition is None:
        return Continue()
    members = report or {}
    control = members.get(CONTROL)
    if loop.needs_control and not isinstance(control, Mapping):
        return _without_control(loop, str(members.get(CONTROL_PROBLEM) or MISSING))
    last: dict[str, object] = {"phase": str(Phase.SUCCEEDED)}
    if isinstance(control, Mapping):
        last[CONTROL] = dict(control)
    iteration = {"index": index, "maxIterations": loop.max_iterations, "last": last}
    try:
        answer = loop.condition.evaluate({"iteration": iteration})
    except ValueError as error:
        return LoopFailed(message=f"loop.condition: {error}")
    if not isinstance(answer, bool):
        return LoopFailed(
            message=f"loop.condition: the expression evaluates to {type(answer).__name__}, not to a boolean"
        )
    return Continue() if answer else LoopDone(reason=LoopStop.CONDITION_FALSE)


def _without_control(loop: Loop, problem: str) -> LoopDone | LoopFailed:
    if problem == MISSING:
        message, stops = (
            "the iteration did not write the control file that the loop condition reads",
            loop.stops_if_missing,
        )
    else:
        message = f"the control file of the loop condition is invalid: {problem}"
        stops = loop.stops_if_invalid
    return (
        LoopDone(reason=LoopStop.CONDITION_FALSE, message=message) if stops else LoopFailed(message=message)
    )
