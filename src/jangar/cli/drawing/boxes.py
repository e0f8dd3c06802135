"""Draws a graph as boxes in layers, joined by lines that never run into each other; large graphs as a list.

Targets that need exactly the same steps share one line (a bus), and every box has one incoming line. So lines that meet
belong together, and lines that cross do not. An edge that passes levels runs through waypoints there. Lines of one net
join where they meet; lines of different nets cross, and the crossing shows the vertical one.
"""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntFlag
from graphlib import CycleError, TopologicalSorter
from typing import Final

from jangar.cli.drawing.dag import Dag


class _Side(IntFlag):
    UP = 1
    DOWN = 2
    LEFT = 4
    RIGHT = 8


_UP, _DOWN, _LEFT, _RIGHT = (int(side) for side in _Side)
_GLYPHS: Final = {
    _UP | _DOWN: "│",
    _LEFT | _RIGHT: "─",
    _DOWN | _RIGHT: "┌",
    _DOWN | _LEFT: "┐",
    _UP | _RIGHT: "└",
    _UP | _LEFT: "┘",
    _UP | _DOWN | _RIGHT: "├",
    _UP | _DOWN | _LEFT: "┤",
    _DOWN | _LEFT | _RIGHT: "┬",
    _UP | _LEFT | _RIGHT: "┴",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
    _UP: "│",
    _DOWN: "│",
    _LEFT: "─",
    _RIGHT: "─",
}
ASCII: Final = str.maketrans("│─┌┐└┘├┤┬┴┼▼", "|-" + 9 * "+" + "v")


class Canvas:
    """A grid of characters that grows as needed."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, int], str] = {}
        self._sides: dict[tuple[int, int], dict[int, int]] = {}

    def write(self, row: int, column: int, text: str) -> None:
        for place, char in enumerate(text):
            self._texts[row, column + place] = char

    def vertical(self, net: int, column: int, top: int, bottom: int) -> None:
        for row in range(top, bottom + 1):
            self._add(net, row, column, (_UP if row > top else 0) | (_DOWN if row < bottom else 0))

    def horizontal(self, net: int, row: int, left: int, right: int) -> None:
        for column in range(left, right + 1):
            self._add(net, row, column, (_LEFT if column > left else 0) | (_RIGHT if column < right else 0))

    def _add(self, net: int, row: int, column: int, sides: int) -> None:
        nets = self._sides.setdefault((row, column), {})
        nets[net] = nets.get(net, 0) | sides

    def lines(self) -> list[str]:
        cells = {place: _glyph(nets) for place, nets in self._sides.items()} | self._texts
        height = max((row for row, _ in cells), default=-1) + 1
        grid: list[list[str]] = [[] for _ in range(height)]
        for (row, column), char in cells.items():
            line = grid[row]
            line.extend(" " * (column + 1 - len(line)))
            line[column] = char
        return ["".join(line).rstrip() for line in grid]


def _glyph(nets: dict[int, int]) -> str:
    if len(nets) > 1:
        return "│"
    return _GLYPHS.get(next(iter(nets.values())), " ")


_SWEEPS: Final = 4
_GAP: Final = 2
_FRAME: Final = 4
"""Columns of a box in addition to its name."""


@dataclass(slots=True)
class Node:
    """A box, or a waypoint (`name` is None) of an edge that passes its level."""

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
    """Each node near the middle of its neighbors; equals keep their order, so ties follow list order."""
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
    """As near as possible to the wanted columns without touching: least squares by pooling neighbors."""
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


_NAME_COLUMN: Final = 32
_MIN_WIDTH: Final = 20


def listing(dag: Dag, *, width: int) -> list[str]:
    """A line per step, by level, with its dependencies. Names are never broken."""
    names = dag.graph.names
    margin = len(str(len(dag.by_level))) + 2
    column = min(max(map(len, names), default=0), _NAME_COLUMN)
    lines: list[str] = []
    for level, row in enumerate(dag.by_level, start=1):
        for place, index in enumerate(row):
            head = (str(level) if place == 0 else "").ljust(margin) + names[index]
            needs = ", ".join(names[need] for need in dag.graph.needs[index])
            if not needs:
                lines.append(head)
                continue
            lines.extend(_line(head, f"after {needs}", margin + column + 2, width))
    return lines


def _line(head: str, tail: str, column: int, width: int) -> list[str]:
    room = max(width - column, _MIN_WIDTH)
    wrapped = textwrap.wrap(tail, room, break_long_words=False, break_on_hyphens=False)
    indent = " " * column
    rest = [f"{indent}{item}" for item in wrapped]
    if len(head) + 2 > column:
        return [head, *rest]
    return [head.ljust(column) + wrapped[0], *rest[1:]]


MAX_STEPS: Final = 60
MAX_LEVELS: Final = 30
_BOX_ROWS: Final = 3


@dataclass(slots=True)
class _Bus:
    """A line from all of its sources to all of its targets. Ports are columns."""

    sources: dict[Node, int] = field(default_factory=dict)
    targets: list[Node] = field(default_factory=list)
    row: int | None = None

    @property
    def ports(self) -> set[int]:
        return set(self.sources.values()) | {node.center for node in self.targets}

    @property
    def span(self) -> tuple[int, int]:
        return min(self.ports), max(self.ports)

    @property
    def is_straight(self) -> bool:
        return len(self.ports) == 1


def boxes(dag: Dag, *, width: int) -> list[str] | None:
    """The drawing, or None if it would be too large to read or wider than `width`."""
    if len(dag.graph.names) > MAX_STEPS or len(dag.by_level) > MAX_LEVELS:
        return None
    layers = layers_of(dag)
    if max((node.left + node.width for layer in layers for node in layer), default=0) > width:
        return None
    canvas = Canvas()
    top, net = 0, 0
    for number, layer in enumerate(layers):
        for node in layer:
            _draw_box(canvas, node, top)
        buses = _buses(layer)
        if not _give_rows(buses):
            return None
        rows = max([1, *(bus.row + 1 for bus in buses if bus.row is not None)])
        below = top + _BOX_ROWS
        for bus in buses:
            _draw_bus(canvas, bus, net, below, below + rows)
            net += 1
        _draw_waypoints(canvas, layer, buses, net - len(buses), top)
        top = below + rows if number + 1 < len(layers) else below
    return canvas.lines()


def _buses(layer: list[Node]) -> list[_Bus]:
    """The lines that leave a layer; each has its own port at every source."""
    by_needs: dict[frozenset[Node], _Bus] = {}
    for node in layer:
        for target in node.down:
            bus = by_needs.setdefault(frozenset(target.up), _Bus())
            if target not in bus.targets:
                bus.targets.append(target)
    for node in layer:
        leaving = [bus for needs, bus in by_needs.items() if node in needs]
        leaving.sort(key=lambda bus: sum(target.center for target in bus.targets) / len(bus.targets))
        for place, bus in enumerate(leaving):
            bus.sources[node] = node.center - (len(leaving) - 1) + 2 * place
    return list(by_needs.values())


def _give_rows(buses: list[_Bus]) -> bool:
    """Assign a row to each line that bends. False if lines would overlap."""
    bent = [bus for bus in buses if not bus.is_straight]
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for number, bus in enumerate(bent):
        # A line that leaves above the arrival of another must bend first.
        arrivals = {node.center for node in bus.targets}
        above = (n for n, item in enumerate(bent) if n != number and arrivals & set(item.sources.values()))
        sorter.add(number, *above)
    try:
        order = list(sorter.static_order())
    except CycleError:
        return False
    for number in order:
        bus = bent[number]
        arrivals = {node.center for node in bus.targets}
        bus.row = _first_free_row(bus, (item for item in bent if item.row is not None), arrivals)
    return True


def _first_free_row(bus: _Bus, placed: Iterable[_Bus], arrivals: set[int]) -> int:
    left, right = bus.span
    lowest, taken = 0, set()
    for item in placed:
        row = item.row or 0
        if arrivals & set(item.sources.values()):
            lowest = max(lowest, row + 1)
        first, last = item.span
        if first <= right + 1 and left <= last + 1:
            taken.add(row)
    return next(row for row in range(lowest, lowest + len(taken) + 1) if row not in taken)


def _draw_box(canvas: Canvas, node: Node, top: int) -> None:
    if node.name is None:
        return
    inner = node.width - 2
    canvas.write(top, node.left, f"┌{'─' * inner}┐")
    name = " " * ((inner - len(node.name)) // 2) + node.name
    canvas.write(top + 1, node.left, f"│{name.ljust(inner)}│")
    canvas.write(top + 2, node.left, f"└{'─' * inner}┘")
    if node.up:
        canvas.write(top, node.center, "▼")


def _draw_bus(canvas: Canvas, bus: _Bus, net: int, top: int, end: int) -> None:
    """From the bottom of the boxes above (row `top` - 1) to the top of those below (row `end`)."""
    row = top + (bus.row or 0)
    for node, port in bus.sources.items():
        canvas.vertical(net, port, top - 1, row)
        if node.name is not None:
            canvas.write(top - 1, port, "┬")
    for node in bus.targets:
        canvas.vertical(net, node.center, row, end)
    if not bus.is_straight:
        canvas.horizontal(net, row, *bus.span)


def _draw_waypoints(canvas: Canvas, layer: list[Node], buses: list[_Bus], first_net: int, top: int) -> None:
    """Draw the lines that pass through waypoints; they split at the bottom if several lines leave."""
    for node in layer:
        if node.name is not None:
            continue
        ports = [(first_net + n, bus.sources[node]) for n, bus in enumerate(buses) if node in bus.sources]
        net = ports[0][0]
        bottom = top + _BOX_ROWS - 1
        canvas.vertical(net, node.center, top, bottom)
        columns = [port for _, port in ports]
        if len(columns) > 1 or columns[0] != node.center:
            canvas.write(bottom, min(columns), _split(columns, node.center))


def _split(columns: list[int], center: int) -> str:
    text = ""
    for column in range(min(columns), max(columns) + 1):
        down, up = column in columns, column == center
        first, last = column == min(columns), column == max(columns)
        text += ("├" if first else "┤" if last else "┼") if down and up else ""
        text += ("┌" if first else "┐" if last else "┬") if down and not up else ""
        text += "" if down else "┴" if up else "─"
    return text
