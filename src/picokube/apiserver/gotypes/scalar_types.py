"""Types that read and write themselves: quantities, times, durations, raw JSON, bytes. Knows texts; knows no field."""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from picokube.apiserver.protocol.memoize import memoized

_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?", re.ASCII
)
QUANTITY_RULE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_QUANTITY_LENGTH: Final = 64


class BadText(ValueError):
    """A text that its type cannot read."""


def quantity(value: Any) -> str:
    """In canonical form: the largest unit without a fraction, in the family that was written."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadText(QUANTITY_RULE)
    text = value if isinstance(value, str) else _number_text(value)
    found = _QUANTITY.fullmatch(text) if len(text) <= _MAX_QUANTITY_LENGTH else None
    if found is None or not (found[2] or found[3]):
        raise BadText(QUANTITY_RULE)
    sign, whole, fraction, unit = found[1], found[2] or "0", found[3] or "", found[4] or ""
    number = Decimal(f"{sign}{whole}.{fraction or '0'}")
    if unit in _BINARY:
        return _binary(number * (1 << _BINARY[unit]))
    if unit in _DECIMAL:
        return _decimal(number.scaleb(_DECIMAL[unit]))
    return _exponent(number.scaleb(int(unit[1:])))


def whole_millis(amounts: dict[str, str]) -> dict[str, str]:
    """Amounts of resources are rounded up to a thousandth."""
    return {
        name: _decimal(Decimal(_round_away(quantity_value(text).scaleb(3))).scaleb(-3))
        if text[-1:] in ("n", "u")
        else text
        for name, text in amounts.items()
    }


def _number_text(value: float) -> str:
    return str(value) if isinstance(value, int) else format(Decimal(repr(value)), "f")


def _binary(number: Decimal) -> str:
    if number != number.to_integral_value() or abs(number) < 1024:  # noqa: PLR2004 - a kibibyte
        return _decimal(number)
    amount, unit = int(number), ""
    for name in _BINARY:
        if amount % 1024:
            break
        amount, unit = amount // 1024, name
    return f"{amount}{unit}"


def _decimal(number: Decimal) -> str:
    """The smallest unit is nano; the rest is rounded away from zero."""
    nanos = _round_away(number.scaleb(9))
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 1000 == 0 and exponent < 18:  # noqa: PLR2004 - E is the largest unit
        nanos, exponent = nanos // 1000, exponent + 3
    unit = next(name for name, power in _DECIMAL.items() if power == exponent)
    return f"{nanos}{unit}"


def _exponent(number: Decimal) -> str:
    nanos = _round_away(number.scaleb(9))
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 1000 == 0:
        nanos, exponent = nanos // 1000, exponent + 3
    return f"{nanos}e{exponent}" if exponent else str(nanos)


def _round_away(number: Decimal) -> int:
    whole = int(number)
    return whole if number == whole else whole + (1 if number > 0 else -1)


def quantity_value(text: str) -> Decimal:
    """The number that a canonical quantity means."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise BadText(QUANTITY_RULE)
    number, unit = Decimal(f"{found[1]}{found[2] or '0'}.{found[3] or '0'}"), found[4] or ""
    if unit in _BINARY:
        return number * (1 << _BINARY[unit])
    return number.scaleb(_DECIMAL[unit] if unit in _DECIMAL else int(unit[1:]))


_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_LAYOUT, _MICRO_LAYOUT = "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.000000Z07:00"
_PARTS: Final = (
    (4, "2006"), (1, "-"), (2, "01"), (1, "-"), (2, "02"), (1, "T"), (2, "15"), (1, ":"), (2, "04"), (1, ":"),
    (2, "05"),
)  # fmt: skip


def time(value: Any) -> str | None:
    """Whole seconds, in UTC."""
    return None if value == "" else _whole_seconds(value)


@memoized(4096)
def _whole_seconds(text: str) -> str:
    return _moment(text, _LAYOUT).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(value: Any) -> str | None:
    """Exactly six decimals, in UTC."""
    return None if value == "" else _moment(value, _MICRO_LAYOUT).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _moment(text: str, layout: str) -> datetime:
    found = _TIME.fullmatch(text)
    is_micro = layout == _MICRO_LAYOUT
    if found is None or (is_micro and len(found[2] or "") != 7):  # noqa: PLR2004 - a dot and six digits
        raise BadText(f'parsing time "{text}" as "{layout}": {_why(text, is_micro=is_micro)}')
    fraction = (found[2] or "")[:7]
    try:
        return datetime.fromisoformat(found[1] + fraction + found[3].replace("Z", "+00:00")).astimezone(UTC)
    except ValueError as error:
        raise BadText(f'parsing time "{text}": {_range(str(error))}') from error


def _why(text: str, *, is_micro: bool) -> str:
    rest = text
    for size, part in _PARTS:
        piece = rest[:size]
        if (part.isdigit() and not (len(piece) == size and piece.isdigit())) or (
            not part.isdigit() and piece != part
        ):
            return f'cannot parse "{rest}" as "{part}"'
        rest = rest[size:]
    fraction = re.match(r"\.[0-9]+", rest)
    if is_micro:
        if fraction is None or len(fraction[0]) < 7:  # noqa: PLR2004 - a dot and six digits
            return f'cannot parse "{rest}" as ".000000"'
        rest = rest[7:]
    elif fraction:
        rest = rest[len(fraction[0]) :]
    zone = re.match(r"Z|[+-][0-9]{2}:[0-9]{2}", rest)
    if zone is None:
        return f'cannot parse "{rest}" as "Z07:00"'
    return f'extra text: "{rest[len(zone[0]) :]}"'


def _range(problem: str) -> str:
    part = next((name for name in ("month", "day", "hour", "minute", "second") if name in problem), "day")
    return f"{part} out of range"


def base64_text(value: str) -> str:
    """Bytes stay as the text that carries them, in its standard spelling."""
    stripped = value.replace("\n", "").replace("\r", "")
    try:
        return base64.b64encode(base64.b64decode(stripped, validate=True)).decode()
    except (binascii.Error, ValueError) as error:
        raise BadText(f"illegal base64 data at input byte {_bad_byte(stripped)}") from error


def _bad_byte(text: str) -> int:
    found = re.match(r"[A-Za-z0-9+/]*", text)
    good = found.end() if found else 0
    if good == len(text) or text[good] == "=":
        return good - good % 4 if good == len(text) else good
    return good


def duration(value: str) -> str:
    return value


def raw(value: Any) -> Any:
    return value


READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "meta/v1.Time": time,
    "meta/v1.MicroTime": micro_time,
    "meta/v1.Duration": duration,
    "resource.Quantity": quantity,
    "runtime.RawExtension": raw,
    "meta/v1.FieldsV1": raw,
    "apiextensions/v1.JSON": raw,
}
