"""Text in columns: tables, and lines of names and values. On a terminal every line fits.

Names are shortened in the middle, sentences at the end or wrapped between words. Columns are shortened or left out.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import typer

from jangar.cli.terminal import printable

ELLIPSIS: Final = "…"


def cell_width(text: str) -> int:
    """Columns that the text takes on a terminal; wide characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - ASCII needs no tables

    return cell_len(text)


def padded(text: str, width: int) -> str:
    return text + " " * max(width - cell_width(text), 0)


def shorten(text: str, width: int) -> str:
    """The text in at most `width` cells: a single word loses its middle, a sentence its end."""
    if cell_width(text) <= width:
        return text
    room = max(width - 1, 0)
    if " " in text:
        return _head(text, room).rstrip() + ELLIPSIS
    tail = room // 2
    return _head(text, room - tail) + ELLIPSIS + (_head(text[::-1], tail)[::-1] if tail else "")


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken between words; a longer word is shortened in its middle."""
    if cell_width(text) <= width:
        return [text]
    if text.isascii():
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    else:
        lines = _wrapped_words(text.split(), width)
    return [shorten(line, width) for line in lines]


def _wrapped_words(words: list[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and cell_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _head(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    used = 0
    for at, sign in enumerate(text):
        used += cell_width(sign)
        if used > width:
            return text[:at]
    return text


NAME_WIDTH: Final = 15
MAX_VALUE: Final = 400
"""Maximum number of characters of a value."""
MIN_VALUE: Final = 20


def field_lines(fields: Mapping[str, str], *, width: int | None) -> list[str]:
    """`Name:          value` for each field that is not empty; on a terminal wrapped between words."""
    lines: list[str] = []
    for name, value in fields.items():
        if not value:
            continue
        room = None if width is None else max(width - NAME_WIDTH, MIN_VALUE)
        first, *further = wrap(printable(value), room) if room else [printable(value)]
        lines.append(f"{name + ':':<{NAME_WIDTH}}{first}")
        lines += [f"{'':<{NAME_WIDTH}}{line}" for line in further]
    return lines


def value_line(prefix: str, name: str, value: str, *, width: int | None) -> str:
    """`prefix name=value` in one line; a value that does not fit is truncated, and its length is added."""
    head = f"{prefix}{printable(name)}="
    shown = printable(value[: MAX_VALUE + 1])
    room = MAX_VALUE if width is None else min(max(width - cell_width(head), MIN_VALUE), MAX_VALUE)
    if len(value) <= MAX_VALUE and cell_width(shown) <= room:
        return head + shown
    mark = f" ({len(value):,} characters)"
    return head + shorten(f"{shown} ", max(room - len(mark), 1)) + mark


GAP: Final = 3
NARROW_GAP: Final = 2
"""Gap between the columns of a shortened table."""
MIN_COLUMN: Final = 12
"""Columns are not shortened below this width while an optional column can be left out."""
MIN_LAST: Final = 24
"""The same for the last column, which has sentences."""

NAMES: Final = frozenset({"Name", "Run", "Step"})
"""Columns from which people copy: shortened only as a last resort."""

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
    """The visible columns and their widths. Lines of one layout are aligned."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    gap: int
    is_fitted: bool
    """Whether cells are shortened to the widths."""

    def lines(self, cells: Sequence[str], *, color: bool = False, wrapped: bool = False) -> list[str]:
        """The lines of a row; with `wrapped` its last column continues on further lines."""
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
    """The lines of the table with its head. Without a width nothing is shortened, for scripts.

    `optional` has the heads of the columns that may be left out, in this order.
    """
    shown = [cleaned(row) for row in rows]
    layout = fit(heads, shown, width=width, optional=optional)
    lines = layout.lines([head.upper() for head in heads])
    for row in shown:
        lines += layout.lines(row, color=color, wrapped=wrapped)
    return lines


def cleaned(row: Sequence[str]) -> list[str]:
    """Cells without control characters; a dash for empty ones."""
    return [printable(cell) or "-" for cell in row]


def fit(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None, optional: Sequence[str] = ()
) -> Layout:
    """A layout of at most `width` cells: shortens columns, then leaves out optional ones, then shortens further."""
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
    """Shorten the last column, then the widest others; names keep up to half the room. None if that is not enough."""
    floors = [min(size, least) for size in natural]
    floors[-1] = min(natural[-1], least_last)
    floors[name] = min(natural[name], room // 2)
    *others, _ = natural
    if sum(others) + floors[-1] <= room:
        return [*others, min(natural[-1], room - sum(others))]
    found = _level([*others, floors[-1]], room, floors)
    return [*found[:-1], min(natural[-1], room - sum(found[:-1]))] if found else None


def _level(natural: Sequence[int], room: int, floors: Sequence[int]) -> list[int] | None:
    """Shorten the widest columns to one common width, none below its floor."""
    for level in range(max(natural), 0, -1):
        widths = [max(min(size, level), floor) for size, floor in zip(natural, floors, strict=True)]
        if sum(widths) <= room:
            return widths
    return None


def _styled(text: str, *, color: bool) -> str:
    style = PHASE_COLORS.get(text) if color else None
    return typer.style(text, fg=style) if style else text
