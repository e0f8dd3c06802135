"""Formats values like Go: quoted strings, numbers, JSON. Used in messages of Kubernetes."""

import math
from typing import Final

import orjson

_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip
_HTML: Final = (
    ("<", "\\u003c"),
    (">", "\\u003e"),
    ("&", "\\u0026"),
    ("\u2028", "\\u2028"),
    ("\u2029", "\\u2029"),
)
_FIXED_NOTATION_BELOW: Final = 21
_INT64: Final = 2**63


def go_quote(text: str) -> str:
    """Go's %q: printable runes are kept, others are escaped."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_rune(item) for item in text) + '"'


def _rune(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:  # noqa: PLR2004 - Go writes one-byte runes in hexadecimal
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def format_number(value: float) -> str:
    """Go's %v of an int64 or float64. Very small numbers and those from 1e+21 have an exponent."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, exponent = _digits(value)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if exponent < -4 or exponent >= _FIXED_NOTATION_BELOW:  # noqa: PLR2004
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    rest = digits[exponent + 1 :]
    return f"{sign}{whole}{'.' + rest if rest else ''}"


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits that round-trip to `value`, and the exponent of the first one."""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    shift = len(whole) - 1 if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    power = shift + (int(exponent) if exponent else 0)
    return (digits.rstrip("0") or "0"), (power if digits else 0)


class Struct(dict[str, object]):
    """A Go struct, whose fields keep their order."""


def as_json(value: object) -> str:
    """Go's json.Marshal: maps with sorted keys, HTML characters escaped."""
    try:
        option = 0 if _is_struct(value) else orjson.OPT_SORT_KEYS
        text = orjson.dumps(_integral_floats_as_integers(value), option=option).decode()
    except (TypeError, ValueError, RecursionError):
        # Not supported by orjson: integers beyond 64 bits, lone surrogates and very deep values.
        return go_quote(str(value)) if isinstance(value, int) else f"<{type(value).__name__}>"
    for char, escape in _HTML:
        if char in text:
            text = text.replace(char, escape)
    return text


def _is_struct(value: object) -> bool:
    """Whether the value is a struct or a list of structs."""
    return isinstance(value[0] if isinstance(value, list) and value else value, Struct)


def _integral_floats_as_integers(value: object) -> object:
    """Convert integral floats to integers, because Go formats 2.0 as 2."""
    match value:
        case float() if value.is_integer() and abs(value) < 10.0**15:
            return int(value)
        case dict():
            return {key: _integral_floats_as_integers(item) for key, item in value.items()}
        case list():
            return [_integral_floats_as_integers(item) for item in value]
        case _:
            return value
