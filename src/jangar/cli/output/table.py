"""A table as lines: columns as wide as they need, the last one as wide as the terminal leaves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import typer

from jangar.cli.terminal import printable

GAP: Final = 3
LEAST: Final = 12
"""A last column is never cut below this."""

PHASE_COLOURS: Final[Mapping[str, str]] = {
    "Succeeded": "green",
    "Ready": "green",
    "Running": "blue",
    "Retrying": "yellow",
    "Cancelling": "yellow",
    "Skipped": "bright_black",
    "Failed": "red",
    "Invalid": "red",
    "Cancelled": "magenta",
}


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, width: int | None = None, colour: bool = False
) -> list[str]:
    """The lines, the head among them. Without a width nothing is cut: scripts read it."""
    shown = [[printable(cell) or "-" for cell in row] for row in rows]
    wide = [max([len(head), *(len(row[at]) for row in shown)]) for at, head in enumerate(heads)]
    lines = [_line([head.upper() for head in heads], wide, width)]
    return lines + [_line(row, wide, width, colour=colour) for row in shown]


def _line(cells: Sequence[str], wide: Sequence[int], width: int | None, *, colour: bool = False) -> str:
    parts: list[str] = []
    used = 0
    for at, cell in enumerate(cells):
        is_last = at == len(cells) - 1
        text = cell
        if is_last and width is not None and used + len(cell) > width:
            room = max(width - used, LEAST)
            text = cell if len(cell) <= room else cell[: room - 1] + "…"
        padding = "" if is_last else " " * (wide[at] - len(cell) + GAP)
        used += wide[at] + GAP
        style = PHASE_COLOURS.get(text) if colour else None
        parts.append((typer.style(text, fg=style) if style else text) + padding)
    return "".join(parts).rstrip()
