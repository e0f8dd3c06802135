"""A run or definition as a graph to draw: nodes in layers, and edges."""

from collections.abc import Sequence
from dataclasses import dataclass

from jangar.api.phases import StepPhase
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.graph import Graph
from jangar.domain.orchestration.state import StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A step with its layer and its phase."""

    name: str
    kind: str
    phase: StepPhase
    layer: int
    """0 for a step that needs none; else one more than the deepest of its needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`target` needs `source`."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGraph:
    """Nodes in list order, edges by target."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


def run_graph(definition: Definition, states: Sequence[StepState] = ()) -> RunGraph:
    """The graph of a run, or of a definition without a run."""
    graph, depth = definition.graph, layers(definition.graph)
    return RunGraph(
        nodes=tuple(
            Node(name=state.name, kind=state.kind, phase=state.phase, layer=depth[index])
            for index, state in enumerate(states or definition.fresh)
        ),
        edges=tuple(
            Edge(source=graph.names[need], target=graph.names[index])
            for index, needs in enumerate(graph.needs)
            for need in needs
        ),
    )


def layers(graph: Graph) -> list[int]:
    """The layer of each step, by index."""
    depth = [0] * len(graph.names)
    for index in graph.order:
        depth[index] = max((depth[need] + 1 for need in graph.needs[index]), default=0)
    return depth
