"""Sizes and costs as upstream counts them: whole numbers that stop growing at 2**64 - 1. Knows numbers only."""

import math
from dataclasses import dataclass
from typing import Final

LIMIT: Final = 2**64 - 1
READING: Final = 0.1
"""What looking at one character costs."""


@dataclass(frozen=True, slots=True)
class Size:
    """Between what and what the size() of a value lies."""

    least: int
    most: int

    def plus(self, other: "Size") -> "Size":
        return Size(capped(self.least + other.least), capped(self.most + other.most))

    def times(self, other: "Size") -> "Size":
        return Size(capped(self.least * other.least), capped(self.most * other.most))

    def or_(self, other: "Size") -> "Size":
        return Size(min(self.least, other.least), max(self.most, other.most))

    def cost(self, each: float) -> int:
        """The cost of the largest value, when one of its parts costs `each`."""
        return scaled(self.most, each)


ANY_SIZE: Final = Size(0, LIMIT)
ONE: Final = Size(1, 1)


def capped(number: int) -> int:
    return min(number, LIMIT)


def scaled(number: int, factor: float) -> int:
    """The product, rounded up, as floating point gives it."""
    product = math.ceil(float(number) * factor)
    return min(LIMIT, product)
