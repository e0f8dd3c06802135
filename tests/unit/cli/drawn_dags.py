"""Graphs to draw from one line of text, and how to read a drawing back."""

from jangar.api.phases import ExecutionMode
from jangar.cli.drawing.dag import Dag
from jangar.domain.orchestration.graph import graph_of


def dag(text: str, *, mode: ExecutionMode = ExecutionMode.GRAPH, name: str = "nightly") -> Dag:
    """`a; b < a; c < a b` is a graph of three steps."""
    needs: dict[str, list[str]] = {}
    for part in text.split(";"):
        step, _, wanted = part.partition("<")
        needs[step.strip()] = wanted.split()
    places = {step: place for place, step in enumerate(needs)}
    graph = graph_of(list(needs), [[places[item] for item in wanted] for wanted in needs.values()])
    assert graph is not None
    return Dag(
        kind="Orchestration", name=name, mode=mode, step_kinds=["Checkpoint"] * len(needs), graph=graph
    )


def edges_of(drawing: list[str]) -> set[tuple[str, str]]:
    """The edges that a reader sees who follows every line of a drawing, passing straight over crossings."""
    width = max(map(len, drawing))
    grid = [line.ljust(width) for line in drawing]
    names = _names_by_cell(grid)
    seen: set[tuple[str, str]] = set()
    for row, line in enumerate(grid):
        for column, char in enumerate(line):
            if char == "┬" and (row, column) in names:
                source = names[row, column]
                seen |= {(source, target) for target in _reached(grid, names, row, column)}
    return seen


_SIDES = {
    "│": "UD", "─": "LR", "┌": "DR", "┐": "DL", "└": "UR", "┘": "UL",
    "├": "UDR", "┤": "UDL", "┬": "DLR", "┴": "ULR", "┼": "UDLR", "▼": "U",
}  # fmt: skip
_MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
_BACK = {"U": "D", "D": "U", "L": "R", "R": "L"}


def _names_by_cell(grid: list[str]) -> dict[tuple[int, int], str]:
    """Every cell of every box border, with the name in the box."""
    found: dict[tuple[int, int], str] = {}
    for row, line in enumerate(grid):
        column = 0
        while (left := line.find("│ ", column)) >= 0:
            right = line.find(" │", left + 1)
            text = line[left + 2 : right].strip() if right > 0 else ""
            boxed = right > 0 and grid[row - 1][left] == "┌" and grid[row - 1][right + 1] == "┐"
            if boxed and text.isalnum():
                for place in range(left, right + 2):
                    found[row - 1, place] = found[row + 1, place] = text
                column = right + 1
            else:
                column = left + 1
    return found


def _reached(grid: list[str], names: dict[tuple[int, int], str], row: int, column: int) -> set[str]:
    found: set[str] = set()
    seen: set[tuple[int, int, str]] = set()
    ways = [(row, column, "D")]
    while ways:
        row, column, way = ways.pop()
        if (row, column, way) in seen:
            continue
        seen.add((row, column, way))
        row, column = row + _MOVES[way][0], column + _MOVES[way][1]
        char = grid[row][column]
        if char == "▼" and way == "D":
            found.add(names[row, column])
            continue
        if (row, column) in names:
            continue  # up into another source of the same line
        sides = _SIDES[char]
        if _BACK[way] not in sides:
            assert char == "│", f"a line ends nowhere at {row}:{column}"
            ways.append((row, column, way))  # crossing: straight on
            continue
        # Lines lead down, as boxes do: whoever follows one never turns up again.
        ways.extend((row, column, side) for side in sides if side not in {_BACK[way], "U"})
    return found
