"""Converts strings of the formats date, date-time and duration for CEL. Other values are unchanged."""

from typing import Final

import re2

_PIECE: Final = re2.compile(r"([0-9]*\.?[0-9]*)(ns|us|µs|μs|ms|s|m|h)")
_WORDED: Final = re2.compile(r"(\d+)\s*([A-Za-z]+)")
_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_SHORT: Final = {**_SECONDS, "hr": 3600.0, "d": 86400.0, "w": 604800.0, "wk": 604800.0}
_LONG: Final = {
    "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "sec": 1.0, "min": 60.0, "hour": 3600.0, "day": 86400.0,
    "week": 604800.0,
}  # fmt: skip


def normalize_timestamp(value: object) -> object:
    """A date or date-time in the format of timestamp()."""
    if not isinstance(value, str):
        return value
    text = value.upper()
    return text if "T" in text else f"{text}T00:00:00Z"


def normalize_duration(value: object) -> object:
    """A duration such as 1h30m or 3 days in the format of duration()."""
    if not isinstance(value, str):
        return value
    seconds = go_seconds(value)
    if seconds is not None:
        return value
    words = [(int(count), unit.lower()) for count, unit in _WORDED.findall(value)]
    return f"{sum(count * _worded(unit) for count, unit in words):.9f}s"


def go_seconds(text: str) -> float | None:
    """The seconds of a Go duration (time.ParseDuration). None if invalid."""
    unsigned = text[1:] if text[:1] in {"-", "+"} else text
    sign = -1 if text.startswith("-") else 1
    if unsigned == "0":
        return 0.0
    at, total = 0, 0.0
    while at < len(unsigned):
        found = _PIECE.match(unsigned, at)
        if found is None or found[1] in {"", "."}:
            return None
        total += float(found[1]) * _SECONDS[found[2]]
        at = found.end()
    return sign * total if unsigned else None


def _worded(unit: str) -> float:
    known = _SHORT.get(unit)
    return (
        known
        if known is not None
        else next((size for name, size in _LONG.items() if unit.startswith(name)), 0.0)
    )
