"""Validates cron schedules, with the error texts of the library that Kubernetes uses. Computes no times."""

import re
from typing import Final
from zoneinfo import available_timezones

_DESCRIPTORS: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_MONTHS: Final = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
_DAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DURATION: Final = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S*)\s*(.*)", re.DOTALL)


class BadSchedule(ValueError):
    """What the parser said."""


def schedule_problem(text: str) -> str | None:
    """What is wrong with a schedule, or None."""
    try:
        _check(text)
    except BadSchedule as error:
        return str(error)
    return None


def is_time_zone(name: str) -> bool:
    return name in ("UTC", "Local") or name in available_timezones()


def _check(text: str) -> None:
    if not text:
        raise BadSchedule("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        found = _ZONE.fullmatch(text)
        zone, text = (found[1], found[2]) if found else ("", "")
        if not is_time_zone(zone):
            raise BadSchedule(f"provided bad location {zone}: unknown time zone {zone}")
    if text.startswith("@"):
        _check_descriptor(text)
        return
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise BadSchedule(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    for part, (least, most, names) in zip(parts, _FIELDS, strict=True):
        for term in part.split(","):
            if term:
                _check_range(term, least, most, names)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise BadSchedule(f"unrecognized descriptor: {text}")
    wanted = text.removeprefix("@every ")
    if not _DURATION.fullmatch(wanted):
        raise BadSchedule(f'failed to parse duration {text}: time: invalid duration "{wanted}"')


def _check_range(text: str, least: int, most: int, names: dict[str, int]) -> None:
    span, *steps = text.split("/")
    low, *highs = span.split("-")
    is_single = not highs
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = _number(low, names)
        if len(highs) > 1:
            raise BadSchedule(f"too many hyphens: {text}")
        end = _number(highs[0], names) if highs else start
    if len(steps) > 1:
        raise BadSchedule(f"too many slashes: {text}")
    step = _plain_number(steps[0]) if steps else 1
    if steps and is_single:
        end = most
    if start < least:
        raise BadSchedule(f"beginning of range ({start}) below minimum ({least}): {text}")
    if end > most:
        raise BadSchedule(f"end of range ({end}) above maximum ({most}): {text}")
    if start > end:
        raise BadSchedule(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else _plain_number(text)


def _plain_number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise BadSchedule(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise BadSchedule(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)
