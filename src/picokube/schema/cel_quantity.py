"""The quantity functions of CEL (500m, 1.5Gi). A quantity is represented as a one-entry map in canonical form."""

import re
from decimal import Decimal
from typing import Any, Final

_FORM: Final = re.compile(
    r"([+-]?)([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,2})?",
    re.ASCII,
)
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_KEY: Final = "quantity"


def _parsed(text: str) -> Decimal | None:
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    value, suffix = Decimal(found[1] + found[2]), found[3] or ""
    if suffix in _BINARY:
        return value * Decimal(1024) ** _BINARY[suffix]
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0)
    return value.scaleb(power)


def is_quantity(text: str) -> bool:
    return _parsed(text) is not None


def quantity(text: str) -> dict[str, str]:
    value = _parsed(text)
    if value is None:
        raise ValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return _packed(value)


def _packed(value: Decimal) -> dict[str, str]:
    # Canonical, because == compares the maps.
    return {_KEY: f"{value.normalize():f}"}


def _value(packed: dict[str, Any]) -> Decimal:
    if set(packed) != {_KEY}:
        raise ValueError("no such overload: this needs a quantity")
    return Decimal(packed[_KEY])


def as_float(packed: dict[str, Any]) -> float:
    return float(_value(packed))


def is_integer(packed: dict[str, Any]) -> bool:
    value = _value(packed)
    return value == value.to_integral_value() and abs(value) < 2**63


def as_integer(packed: dict[str, Any]) -> int:
    if not is_integer(packed):
        raise ValueError("cannot convert value to integer")
    return int(_value(packed))


def sign(packed: dict[str, Any]) -> int:
    value = _value(packed)
    return (value > 0) - (value < 0)


def compared(one: dict[str, Any], other: dict[str, Any]) -> int:
    a, b = _value(one), _value(other)
    return (a > b) - (a < b)


def shifted(direction: int, packed: dict[str, Any], by: dict[str, Any] | int) -> dict[str, str]:
    amount = _value(by) if isinstance(by, dict) else Decimal(by)
    return _packed(_value(packed) + direction * amount)
