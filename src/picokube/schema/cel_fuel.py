"""The fuel of one CEL evaluation: what its functions may still look at. Deterministic: it counts work, not time."""

import threading
from typing import Any, Final

OUT_OF_FUEL: Final = "out of fuel"
"""What an exhausted function says; the evaluator tells it from other errors by this."""
FULL: Final = 1_000_000
"""Units of one evaluation. A unit is a character or an item that a function looks at: at most 0.2 µs."""
_CALL: Final = 10


class _Fuel(threading.local):
    left: int = 0


_fuel = _Fuel()


def refuel() -> None:
    """Start counting anew, for one evaluation in this thread."""
    _fuel.left = FULL


def burn(units: int) -> None:
    """Take units from the running evaluation. Raises ValueError when none are left."""
    _fuel.left -= units
    if _fuel.left < 0:
        raise ValueError(OUT_OF_FUEL)


def burn_for(values: tuple[Any, ...]) -> None:
    """Charge a call that looks at all these values, at whatever depth they nest."""
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
