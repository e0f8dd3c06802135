"""Computes the due times of a cron schedule with cronsim, including the macros and time zones of Kubernetes. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import re2
from cronsim import CronSim, CronSimError

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re2.compile(r"([0-9.]+)(ms|us|µs|ns|h|m|s)")
MAX_MISSED = 100
"""Missed times are counted up to this number."""


class BadSchedule(ValueError):
    """A schedule or time zone that can't be parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTimes:
    """The due times of a schedule around the current time."""

    last: datetime | None
    """The last time that is due. None if there is none."""
    missed: int
    next: datetime | None


def due_times(schedule: str, zone: str | None, *, after: datetime, now: datetime) -> DueTimes:
    """The times later than `after` up to `now`, and the next one. Raises BadSchedule."""
    last, missed = None, 0
    for time in _times(schedule, zone, after):
        if time > now:
            return DueTimes(last=last, missed=missed, next=time)
        last, missed = time, missed + 1
        if missed > MAX_MISSED:
            return _latest_times(schedule, zone, last=time, missed=missed, now=now)
    return DueTimes(last=last, missed=missed, next=None)


def _latest_times(schedule: str, zone: str | None, *, last: datetime, missed: int, now: datetime) -> DueTimes:
    """Search backwards from now in growing steps, instead of through every missed time."""
    span = timedelta(minutes=2)
    while now - span > last:
        times: list[datetime] = []
        for time in _times(schedule, zone, now - span):
            if time > now:
                if times:
                    return DueTimes(last=times[-1], missed=missed, next=time)
                break
            times.append(time)
        span *= 4
    return DueTimes(last=last, missed=missed, next=next(_times(schedule, zone, now), None))


def _times(schedule: str, zone: str | None, after: datetime) -> Iterator[datetime]:
    text = schedule.strip()
    if match := re.fullmatch(r"(?:CRON_)?TZ=(\S+)\s+(.*)", text):
        zone, text = match[1], match[2]
    if text.startswith("@every "):
        yield from _intervals(text.removeprefix("@every "), after)
        return
    expression = _MACROS.get(text, text).replace("?", "*")
    try:
        time_zone = ZoneInfo(zone) if zone and zone not in ("UTC", "Local") else UTC
        simulation = CronSim(expression, after.astimezone(time_zone))
    except (CronSimError, KeyError, ValueError, OSError) as error:
        in_zone = f" in time zone {zone}" if zone else ""
        raise BadSchedule(f"invalid schedule {text!r}{in_zone}: {error}") from error
    for time in simulation:
        yield time.astimezone(UTC)


def _intervals(text: str, after: datetime) -> Iterator[datetime]:
    parts = _PART.findall(text)
    seconds = max(sum(float(number) * _UNITS[unit] for number, unit in parts), 1.0)
    if not parts:
        raise BadSchedule(f"invalid schedule '@every {text}': {text!r} is not a duration such as 1h30m")
    step = timedelta(seconds=int(seconds))
    time = after.astimezone(UTC).replace(microsecond=0) + step
    while True:
        yield time
        time += step
