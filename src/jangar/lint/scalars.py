"""What an unquoted word means in a manifest: as Kubernetes reads it, YAML 1.1 less dates and base 60.

`on`, `yes` and `y` are booleans, `010` is eight, `1_000` is a thousand, a date stays text.
"""

import math
import re
from typing import Final

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)\Z", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z", re.ASCII)
_WHOLE_BELOW: Final = 1e21
_MAX_DIGITS: Final = 400

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1


class NumberRefused(ValueError):
    """A number that JSON or the API cannot carry."""


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar; raises NumberRefused for what no manifest can hold."""
    if text in _WORDS:
        value = _WORDS[text]
        return finite(value) if isinstance(value, float) else value
    if text[0] not in _NUMBER_STARTS:
        return text
    digits = text.replace("_", "") if text[0] != "." else text
    if len(digits) <= _MAX_DIGITS and _INTEGER.match(digits):
        return int64(_integer(digits))
    if _FLOAT.match(digits):
        return _float(text, digits)
    return text


def _integer(digits: str) -> int:
    """Go's base 0: a leading zero alone means octal."""
    bare = digits.lstrip("+-")
    octal = len(bare) > 1 and bare[0] == "0" and bare[1].isdigit()
    return int(digits, 8 if octal else 0)


def _float(text: str, digits: str) -> Scalar:
    value = float(digits)
    if math.isinf(value):
        if digits.lstrip("+-").isdigit():
            raise NumberRefused(_BEYOND_64_BITS)
        return text  # as Go: what does not fit a float64 stays text
    # Kubernetes turns YAML into JSON first, and Go writes 1e3 there as 1000.
    return int(value) if value.is_integer() and abs(value) < _WHOLE_BELOW else value


_BEYOND_64_BITS: Final = "the number does not fit in 64 bits"


def int64(value: int) -> int:
    if INT64_MIN <= value <= INT64_MAX:
        return value
    raise NumberRefused(_BEYOND_64_BITS)


def finite(value: float) -> float:
    if math.isfinite(value):
        return value
    raise NumberRefused("not a number and infinity do not exist in JSON")
