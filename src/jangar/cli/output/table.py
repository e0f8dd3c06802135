"""A table as lines. On a terminal every line fits: columns are shortened or left out, and no word breaks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import typer

from jangar.cli.output.cells import cell_width, padded, shorten, wrap
from jangar.cli.terminal import printable

GAP: Final = 3
NARROW_GAP: Final = 2
"""Between the columns of a table that had to be shortened."""
MIN_COLUMN: Final = 12
"""A longer column is not shortened below this while another one may be left out instead."""
MIN_LAST: Final = 24
"""The same for the last column, which holds sentences."""

NAMES: Final = frozenset({"Name", "Run", "Step"})
"""Heads of columns that people copy from: shortened only where nothing else helps."""

PHASE_COLORS: Final[Mapping[str, str]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Which columns are shown, and how wide each one is. Lines of one layout are aligned."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    gap: int
    is_fitted: bool
    """Whether cells are cut to the widths; else they may be longer."""

    def lines(self, cells: Sequence[str], *, color: bool = False, wrapped: bool = False) -> list[str]:
        """One row; with `wrapped` its last column goes on in further lines instead of being cut."""
        texts = [cells[at] for at in self.shown]
        last, width = texts[-1], self.widths[-1]
        further: list[str] = []
        if self.is_fitted:
            if wrapped:
                last, *further = wrap(last, width)
            texts = [shorten(text, size) for text, size in zip(texts[:-1], self.widths, strict=False)]
            texts.append(shorten(last, width))
        first = "".join(
            _styled(text, color=color) + padded("", size - cell_width(text) + self.gap)
            for text, size in zip(texts, self.widths, strict=True)
        ).rstrip()
        indent = " " * (sum(self.widths[:-1]) + self.gap * (len(self.widths) - 1))
        return [first, *(f"{indent}{line}" for line in further)]


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    width: int | None = None,
    color: bool = False,
    wrapped: bool = False,
    optional: Sequence[str] = (),
) -> list[str]:
    """The lines, the head among them. Without a width nothing is cut: scripts read it.

    `optional` names the heads of columns that may be left out, the first one first.
    """
    shown = [cleaned(row) for row in rows]
    layout = fit(heads, shown, width=width, optional=optional)
    lines = layout.lines([head.upper() for head in heads])
    for row in shown:
        lines += layout.lines(row, color=color, wrapped=wrapped)
    return lines


def cleaned(row: Sequence[str]) -> list[str]:
    """Cells that cannot steer the terminal; a dash for empty ones."""
    return [printable(cell) or "-" for cell in row]


def fit(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None, optional: Sequence[str] = ()
) -> Layout:
    """Columns for lines of at most `width` cells: first shortened, then left out, at last shortened further."""
    shown = list(range(len(heads)))
    natural = [max([len(head), *(cell_width(row[at]) for row in rows)]) for at, head in enumerate(heads)]
    rest = sum(natural[:-1]) + GAP * (len(heads) - 1)
    if width is None:
        return Layout(shown=tuple(shown), widths=tuple(natural), gap=GAP, is_fitted=False)
    if rest + natural[-1] <= width:
        return Layout(shown=tuple(shown), widths=(*natural[:-1], width - rest), gap=GAP, is_fitted=True)
    droppable = [list(heads).index(head) for head in optional if head in heads]
    while True:
        room = width - NARROW_GAP * (len(shown) - 1)
        sizes = [natural[at] for at in shown]
        name = next((at for at, column in enumerate(shown) if heads[column] in NAMES), 0)
        widths = _shortened(sizes, room, name, MIN_COLUMN, MIN_LAST)
        if widths is None and droppable:
            shown.remove(droppable.pop(0))
            continue
        if widths is None:
            widths = _level(sizes, room, [1] * len(sizes)) or [1] * len(sizes)
        return Layout(shown=tuple(shown), widths=tuple(widths), gap=NARROW_GAP, is_fitted=True)


def _shortened(natural: Sequence[int], room: int, name: int, least: int, least_last: int) -> list[int] | None:
    """First the last column, then the widest others; names keep up to half the room. None if that is not enough."""
    floors = [min(size, least) for size in natural]
    floors[-1] = min(natural[-1], least_last)
    floors[name] = min(natural[name], room // 2)
    *others, _ = natural
    if sum(others) + floors[-1] <= room:
        return [*others, min(natural[-1], room - sum(others))]
    found = _level([*others, floors[-1]], room, floors)
    return [*found[:-1], min(natural[-1], room - sum(found[:-1]))] if found else None


def _level(natural: Sequence[int], room: int, floors: Sequence[int]) -> list[int] | None:
    """The widest columns cut to one common width, none below its floor."""
    for level in range(max(natural), 0, -1):
        widths = [max(min(size, level), floor) for size, floor in zip(natural, floors, strict=True)]
        if sum(widths) <= room:
            return widths
    return None


def _styled(text: str, *, color: bool) -> str:
    style = PHASE_COLORS.get(text) if color else None
    return typer.style(text, fg=style) if style else text
