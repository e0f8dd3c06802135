"""Orchestrations that would run themselves (DAG-13). Knows which orchestration runs which; reads none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.graph import connected_components, shortest_path
from jangar.domain.orchestration.message_text import arrows, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedCall:
    """A SubOrchestration step: where it stands, and which orchestration it runs."""

    index: int
    step: str
    target: str


def recursion_problems(calls: Mapping[str, Sequence[NestedCall]]) -> dict[str, list[Problem]]:
    """A problem for each step by which an orchestration contains itself; others are not in the answer.

    Orchestrations that are called but not given are taken to call nothing: they do not exist yet.
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
    """From where the call stands to its target and back."""
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


def nesting_refusal(lineage: Sequence[str], target: str, *, max_depth: int) -> Reason | None:
    """Why a run may not start a nested run of `target`; None if it may.

    `lineage` names the orchestrations from the root run down to the one that asks; `max_depth` is how long it
    may become with `target` added.
    """
    if target in lineage:
        return Reason.RECURSIVE_ORCHESTRATION
    if len(lineage) >= max_depth:
        return Reason.NESTING_TOO_DEEP
    return None
