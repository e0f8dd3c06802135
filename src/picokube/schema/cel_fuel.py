"""The fuel of a CEL evaluation, which limits the work of its functions. Deterministic: it counts work, not time."""

import threading
from typing import Any, Final

OUT_OF_FUEL: Final = "out of fuel"
"""Error message by which the evaluator recognizes exhausted fuel."""
FULL: Final = 1_000_000
"""Units per evaluation. A unit is a character or item that a function reads: at most 0.2 µs."""
_CALL: Final = 10


class _Fuel(threading.local):
    left: int = 0


_fuel = _Fuel()


def refuel() -> None:
    """Reset the fuel for an evaluation in this thread."""
    _fuel.left = FULL


def burn(units: int) -> None:
    """Consume units. Raises ValueError if there are not enough."""
    _fuel.left -= units
    if _fuel.left < 0:
        raise ValueError(OUT_OF_FUEL)


def burn_for(values: tuple[Any, ...]) -> None:
    """Consume fuel for a call that reads all these values recursively."""
    burn(_CALL)
    left: list[Any] = list(values)
    while left:
        value = left.pop()
        if isinstance(value, str | bytes):
            burn(1 + len(value))
        elif isinstance(value, list):
            burn(1 + _ITEM * len(value))
            left.extend(value)
        elif isinstance(value, dict):
            burn(1 + _ITEM * len(value))
            left.extend(value)
            left.extend(value.values())
        else:
            burn(1)


_ITEM: Final = 8
