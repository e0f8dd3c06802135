"""The course of a child's work that is more than one Job: stages one after another, each repeated as its loop says.

Values, and the one question that a loop asks. Knows neither Jobs nor time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jangar.api.phases import LoopStop, Phase
from jangar.domain.orchestration.definition import Condition

CONTROL = "control"
"""Member of the runner's report: what the work wrote for the condition of its loop."""
CONTROL_PROBLEM = "controlProblem"
"""Member of the runner's report: why there is nothing."""
MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """How often a stage is repeated."""

    max_iterations: int
    condition: Condition | None = None
    """Asked after each iteration but the last; none goes on to the last."""
    needs_control: bool = False
    """Whether the condition looks at what the iteration wrote for it."""
    stops_if_missing: bool = True
    stops_if_invalid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of the course."""

    name: str
    loop: Loop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Another iteration follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDone:
    """The loop came to a good end."""

    reason: LoopStop
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFailed:
    """Nobody can tell whether it should go on."""

    message: str


def after_iteration(
    loop: Loop, index: int, report: Mapping[str, Any] | None
) -> Continue | LoopDone | LoopFailed:
    """What follows an iteration that succeeded; `index` counts from 1, `report` is what its runner told."""
    if index >= loop.max_iterations:
        return LoopDone(reason=LoopStop.MAX_ITERATIONS_REACHED)
    if loop.condition is None:
        return Continue()
    told = report or {}
    control = told.get(CONTROL)
    if loop.needs_control and not isinstance(control, Mapping):
        return _without_control(loop, str(told.get(CONTROL_PROBLEM) or MISSING))
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
            message=f"loop.condition: the expression gives {type(answer).__name__}, not true or false"
        )
    return Continue() if answer else LoopDone(reason=LoopStop.CONDITION_FALSE)


def _without_control(loop: Loop, problem: str) -> LoopDone | LoopFailed:
    if problem == MISSING:
        message, stops = (
            "the iteration wrote nothing for the loop's condition to look at",
            loop.stops_if_missing,
        )
    else:
        message = f"what the iteration wrote for the loop's condition cannot be read: {problem}"
        stops = loop.stops_if_invalid
    return (
        LoopDone(reason=LoopStop.CONDITION_FALSE, message=message) if stops else LoopFailed(message=message)
    )
