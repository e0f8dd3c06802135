"""Where the boxes of a layered drawing stand. Knows levels, orders and columns; draws nothing.

An edge that passes levels runs through waypoints there, one chain a step, so that every line joins neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from jangar.cli.drawing.dag import Dag

_SWEEPS: Final = 4
_GAP: Final = 2
_FRAME: Final = 4
"""Columns of a box beside its name."""


@dataclass(slots=True)
class Node:
    """A box, or a waypoint (`name` is None) of an edge that passes this level."""

    name: str | None
    level: int
    up: list["Node"] = field(default_factory=list)
    down: list["Node"] = field(default_factory=list)
    width: int = 1
    center: int = 0

    @property
    def left(self) -> int:
        return self.center - self.width // 2

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def layers_of(dag: Dag) -> list[list[Node]]:
    """The nodes of each level from left to right, with their columns."""
    layers = _linked(dag)
    for _ in range(_SWEEPS):
        _order(layers, down=True)
        _order(layers, down=False)
    for layer in layers:
        for node in layer:
            node.width = _width(node)
    for layer in layers:
        _place(layer, [0.0] * len(layer))
    for _ in range(_SWEEPS):
        for layer in layers[1:]:
            _place(layer, [_mean(node.up, node.center) for node in layer])
        for layer in reversed(layers[:-1]):
            _place(layer, [_mean(node.down, node.center) for node in layer])
    margin = min((node.left for layer in layers for node in layer), default=0)
    for layer in layers:
        for node in layer:
            node.center -= margin
    return layers


def _linked(dag: Dag) -> list[list[Node]]:
    nodes = [Node(name, level) for name, level in zip(dag.graph.names, dag.levels, strict=True)]
    layers: list[list[Node]] = [[nodes[index] for index in row] for row in dag.by_level]
    for index, node in enumerate(nodes):
        tail = [node]
        for dependent in sorted(dag.graph.dependents[index], key=lambda item: dag.levels[item]):
            target = nodes[dependent]
            while tail[-1].level < target.level - 1:
                waypoint = Node(None, tail[-1].level + 1)
                layers[waypoint.level].append(waypoint)
                _join(tail[-1], waypoint)
                tail.append(waypoint)
            _join(tail[target.level - 1 - node.level], target)
    return layers


def _join(above: Node, below: Node) -> None:
    above.down.append(below)
    below.up.append(above)


def _order(layers: list[list[Node]], *, down: bool) -> None:
    """Each node near the middle of its neighbours; equals keep their order, so list order decides at last."""
    for layer in layers if down else reversed(layers):
        places = {node: place for row in layers for place, node in enumerate(row)}
        middle = {node: _middle(node.up if down else node.down, places) for node in layer}
        known = {
            node: place if (place := middle[node]) is not None else float(places[node]) for node in layer
        }
        layer.sort(key=lambda node: known[node])


def _middle(nodes: Sequence[Node], places: dict[Node, int]) -> float | None:
    return sum(places[node] for node in nodes) / len(nodes) if nodes else None


def bus_count(node: Node) -> int:
    """How many lines leave the node downward: targets that need exactly the same share one."""
    return len({frozenset(target.up) for target in node.down})


def _width(node: Node) -> int:
    """Odd, so that there is a middle, and wide enough for the lines that leave."""
    lines = bus_count(node)
    if node.name is None:
        return max(1, 2 * lines - 1)
    width = max(len(node.name) + _FRAME, 2 * lines + 1)
    return width + 1 - width % 2


def _mean(nodes: Sequence[Node], otherwise: int) -> float:
    return sum(node.center for node in nodes) / len(nodes) if nodes else float(otherwise)


def _place(layer: list[Node], wanted: list[float]) -> None:
    """As near as possible to the wanted columns without touching: least squares by pooling neighbours."""
    offsets, offset = [], 0
    for index, node in enumerate(layer):
        if index:
            before = layer[index - 1]
            offset += before.width - before.width // 2 + _GAP + node.width // 2
        offsets.append(offset)
    pools: list[tuple[float, int]] = []
    for want, shift in zip(wanted, offsets, strict=True):
        pools.append((want - shift, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (late, many), (early, more) = pools.pop(), pools.pop()
            pools.append(((late * many + early * more) / (many + more), many + more))
    columns = [value for value, many in pools for _ in range(many)]
    for node, column, shift in zip(layer, columns, offsets, strict=True):
        node.center = round(column) + shift
