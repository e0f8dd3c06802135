"""Formats ages and durations in few characters, and parses durations."""

import re
from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_TEXT: Final = re.compile(r"(?:\d{1,9}[smhdw])+")
_PART: Final = re.compile(r"(\d{1,9})([smhdw])")


def span(duration: timedelta | None) -> str:
    """`0.4s`, `12s`, `3m4s`, `5h`, `2d4h`; `-` for none."""
    if duration is None:
        return "-"
    seconds = max(duration.total_seconds(), 0.0)
    if seconds < 10:  # noqa: PLR2004 - tenths matter only below
        return f"{seconds:.1f}s"
    whole = int(seconds)
    for name, size, below, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size}{name}" + (f"{rest}{below}" if rest else "")
    return f"{whole}s"


def age(since: datetime | None, now: datetime) -> str:
    """An age in whole units."""
    if since is None:
        return "-"
    passed = max(now - since, timedelta(0))
    return span(passed) if passed >= timedelta(seconds=10) else f"{int(passed.total_seconds())}s"


def parse_span(text: str) -> timedelta:
    """Parse `90s`, `5m`, `1h30m` or `2d`; raises ValueError."""
    if not _TEXT.fullmatch(text):
        raise ValueError(f"{text!r} is not a duration: use for example 90s, 5m, 1h30m or 2d")
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(text)))
