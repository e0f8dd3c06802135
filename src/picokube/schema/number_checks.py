"""Validates numbers with the arithmetic of kube-openapi."""

import math
from typing import Final

from picokube.schema import messages
from picokube.schema.errors import FieldError, Path
from picokube.schema.node import Node

_SAFE: Final = 2**53 - 1
_NEARLY: Final = 1e-9


def is_whole(value: float) -> bool:
    """Whether a number counts as an integer, including floats that are integral within rounding errors."""
    if not -_SAFE <= value <= _SAFE:
        return False
    whole = int(value)
    if whole == value:
        return True
    return whole != 0 and abs(value - whole) / (abs(value) + abs(whole)) < _NEARLY


def number_errors(value: float, node: Node, name: str, at: Path) -> list[FieldError]:
    """The errors of multipleOf, minimum and maximum, in this order."""
    errors = []
    integral = isinstance(value, int) and -(2**63) <= value < 2**63
    value = value if integral else _as_float(value)
    if node.multiple_of is not None:
        # Bounds of integers are truncated like in Go, so 0.5 becomes 0, which is an invalid factor.
        factor = int(node.multiple_of) if integral else node.multiple_of
        if factor <= 0:
            errors.append(messages.useless_factor(name, at, factor))
        elif value % factor if integral else not _divides(factor, value):
            errors.append(messages.not_multiple(name, at, value, factor))
    if node.minimum is not None:
        low = int(node.minimum) if integral else node.minimum
        if value < low or (node.exclusive_minimum and value == low):
            relation = "greater than" if node.exclusive_minimum else "greater than or equal to"
            errors.append(messages.out_of_range(name, at, value, relation, low))
    if node.maximum is not None:
        high = int(node.maximum) if integral else node.maximum
        if value > high or (node.exclusive_maximum and value == high):
            relation = "less than" if node.exclusive_maximum else "less than or equal to"
            errors.append(messages.out_of_range(name, at, value, relation, high))
    return errors


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _divides(factor: float, value: float) -> bool:
    return is_whole(1 / factor * value if factor < 1 else value / factor)
