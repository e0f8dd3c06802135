"""Numbers as Go writes them: a float that is whole has no fraction, so 4.0 is stored and shown as 4."""

from typing import Any

EXACT_BELOW = 1e21
"""From here on Go writes an exponent."""


def without_fractions_of_zero(obj: dict[str, Any]) -> None:
    """In place, all but metadata, which holds no floats."""
    for name, value in obj.items():
        if name != "metadata":
            obj[name] = _plain(value)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        for name, each in value.items():
            inner = type(each)
            if inner is dict or inner is list or inner is float:
                value[name] = _plain(each)
    elif kind is list:
        for index, each in enumerate(value):
            inner = type(each)
            if inner is dict or inner is list or inner is float:
                value[index] = _plain(each)
    elif kind is float and value.is_integer() and abs(value) < EXACT_BELOW:
        return int(value)
    return value
