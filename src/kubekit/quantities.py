"""Quantities of Kubernetes, such as 500m, 1.5Gi and 1e3. Pure."""

import re
from decimal import Decimal
from typing import Final

_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,2})?",
    re.ASCII,
)
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse_quantity(text: str) -> Decimal | None:
    """The number that a quantity means. None if the text is not a quantity."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    value, suffix = Decimal(match[1] + match[2]), match[3] or ""
    if suffix in _BINARY:
        return value * Decimal(1024) ** _BINARY[suffix]
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0)
    return value.scaleb(power)
