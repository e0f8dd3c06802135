"""Orchestrations that contain themselves (DAG-13), found from the calls between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.graph import connected_components, shortest_path
from jangar.domain.orchestration.message_text import arrows, quoted
from jangar.kinds.registry import STEP_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedCall:
    """A step that runs an orchestration: its position, its name, and which orchestration it runs."""

    index: int
    step: str
    target: str


def nested_calls(spec: OrchestrationSpec) -> list[NestedCall]:
    """The steps that run an orchestration."""
    return [
        NestedCall(index=index, step=step.name, target=target)
        for index, step in enumerate(spec.steps)
        if (adapter := STEP_KINDS.get(step.kind)) is not None
        and adapter.called_orchestration is not None
        and (target := adapter.called_orchestration(step))
    ]


def recursion_problems(calls: Mapping[str, Sequence[NestedCall]]) -> dict[str, list[Problem]]:
    """Problems by orchestration, one for each step through which the orchestration contains itself.

    Orchestrations that are called but missing in `calls` are assumed to call nothing.
    """
    names = list(calls)
    numbers = {name: number for number, name in enumerate(names)}
    edges = [
        list(dict.fromkeys(numbers[call.target] for call in calls[name] if call.target in numbers))
        for name in names
    ]
    found: dict[str, list[Problem]] = {}
    for component in connected_components(edges):
        together = frozenset(component)
        for number in component:
            ways = {
                names[target]: arrows([names[item] for item in _round_trip(number, target, edges, together)])
                for target in edges[number]
                if target in together
            }
            if ways:
                name = names[number]
                found[name] = [
                    _problem(call, ways[call.target]) for call in calls[name] if call.target in ways
                ]
    return {name: found[name] for name in names if name in found}


def _round_trip(
    start: int, target: int, edges: Sequence[Sequence[int]], together: frozenset[int]
) -> list[int]:
    """The path from the caller to the target and back."""
    if target == start:
        return [start, start]
    return [start, target, *shortest_path(target, start, edges, within=together)]


def _problem(call: NestedCall, way: str) -> Problem:
    return Problem(
        reason=Reason.RECURSIVE_ORCHESTRATION,
        path=("spec", "steps", call.index, "orchestrationRef"),
        message=f"step {quoted(call.step)} calls its own orchestration: {way}",
        fix="call an orchestration that does not call this one",
        step=call.step,
    )
