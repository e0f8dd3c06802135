"""Sizes and costs with the saturating 64-bit arithmetic of upstream."""

import math
from dataclasses import dataclass
from typing import Final

LIMIT: Final = 2**64 - 1
READING: Final = 0.1
"""The cost of reading a character."""


@dataclass(frozen=True, slots=True)
class Size:
    """The minimum and maximum size() of a value."""

    min_size: int
    max_size: int

    def plus(self, other: "Size") -> "Size":
        return Size(capped(self.min_size + other.min_size), capped(self.max_size + other.max_size))

    def times(self, other: "Size") -> "Size":
        return Size(capped(self.min_size * other.min_size), capped(self.max_size * other.max_size))

    def or_(self, other: "Size") -> "Size":
        return Size(min(self.min_size, other.min_size), max(self.max_size, other.max_size))

    def cost(self, each: float) -> int:
        """The cost of the largest value if each of its parts costs `each`."""
        return scaled(self.max_size, each)


ANY_SIZE: Final = Size(0, LIMIT)
ONE: Final = Size(1, 1)


def capped(number: int) -> int:
    return min(number, LIMIT)


def scaled(number: int, factor: float) -> int:
    """The floating point product, rounded up."""
    product = math.ceil(float(number) * factor)
    return min(LIMIT, product)
