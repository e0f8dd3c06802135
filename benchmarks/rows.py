"""One measured figure and its goal."""

from typing import NamedTuple


class Row(NamedTuple):
    """A figure that must not exceed its goal."""

    name: str
    value: float
    unit: str
    goal: float
