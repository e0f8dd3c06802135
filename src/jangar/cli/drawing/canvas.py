"""A grid of characters with lines that join. Knows which strokes meet in a cell; knows no graph.

Lines of one net join where they meet; lines of different nets cross, and the crossing shows the vertical one.
"""

from enum import IntFlag
from typing import Final


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
    """Rows of text, growing as needed."""

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
