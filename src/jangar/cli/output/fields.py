"""Names and values as lines: fields of one object, and the data of its steps, cut with a mark where they are long."""

from collections.abc import Mapping
from typing import Final

from jangar.cli.output.cells import cell_width, shorten, wrap
from jangar.cli.terminal import printable

NAME_WIDTH: Final = 15
MAX_VALUE: Final = 400
"""Characters of a value that are shown where no terminal's width says less."""
MIN_VALUE: Final = 20


def field_lines(fields: Mapping[str, str], *, width: int | None) -> list[str]:
    """`Name:          value`, empty ones left out; on a terminal wrapped between words."""
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
    """`prefix name=value` in one line; a value that does not fit is cut, and the line says how long it is."""
    head = f"{prefix}{printable(name)}="
    shown = printable(value[: MAX_VALUE + 1])
    room = MAX_VALUE if width is None else min(max(width - cell_width(head), MIN_VALUE), MAX_VALUE)
    if len(value) <= MAX_VALUE and cell_width(shown) <= room:
        return head + shown
    mark = f" ({len(value):,} characters)"
    return head + shorten(f"{shown} ", max(room - len(mark), 1)) + mark
