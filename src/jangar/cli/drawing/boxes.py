"""The layered drawing: boxes from top to bottom, joined by lines that never run into each other.

Targets that need exactly the same steps share one line (a bus), and every box has one line coming in. So a line
can be followed without doubt: what meets belongs together, what crosses does not.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Final

from jangar.cli.drawing.canvas import Canvas
from jangar.cli.drawing.dag import Dag
from jangar.cli.drawing.layout import Node, layers_of

MAX_STEPS: Final = 60
MAX_LEVELS: Final = 30
_BOX_ROWS: Final = 3


@dataclass(slots=True)
class _Bus:
    """One line: from all of its sources to all of its targets. Ports are columns."""

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
    """The drawing, or None if it would be too large to be read or wider than `width`."""
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
    """The lines that leave a layer, with a port of its own for each at every source."""
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
    """A row for each line that bends. False if lines would have to run over each other."""
    bent = [bus for bus in buses if not bus.is_straight]
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for number, bus in enumerate(bent):
        # Where one line leaves above the place at which another arrives, it must bend first.
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
    """A waypoint's line passes its level, and parts at the bottom if several lines leave."""
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
