"""The drawing for graphs that are too wide or too large for boxes: a line a step, level by level."""

import textwrap
from typing import Final

from jangar.cli.drawing.dag import Dag

_NAME_COLUMN: Final = 32
_MIN_WIDTH: Final = 20


def listing(dag: Dag, *, width: int) -> list[str]:
    """Every step under its level, with what it comes after. Names are never broken."""
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
