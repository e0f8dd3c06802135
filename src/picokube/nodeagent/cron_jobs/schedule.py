"""When a cron schedule is due. Pure; computes with cronsim, and with the macros and zones that Kubernetes knows."""

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
MOST_MISSED = 100
"""A schedule that was missed more often is taken up at its last time, without counting."""


class BadSchedule(ValueError):
    """A schedule or zone that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What a look at a schedule tells."""

    last: datetime | None
    """The last time that was due; None if none was."""
    missed: int
    next: datetime | None


def due(text: str, zone: str | None, *, after: datetime, now: datetime) -> Due:
    """Times after `after` and not after `now`, and the first one later. Raises BadSchedule."""
    last, missed = None, 0
    for moment in _times(text, zone, after):
        if moment > now:
            return Due(last=last, missed=missed, next=moment)
        last, missed = moment, missed + 1
        if missed > MOST_MISSED:
            return _close_to(text, zone, last=moment, missed=missed, now=now)
    return Due(last=last, missed=missed, next=None)


def _close_to(text: str, zone: str | None, *, last: datetime, missed: int, now: datetime) -> Due:
    """After a long absence: look back from now in ever wider steps instead of through every time since."""
    span = timedelta(minutes=2)
    while now - span > last:
        times: list[datetime] = []
        for moment in _times(text, zone, now - span):
            if moment > now:
                if times:
                    return Due(last=times[-1], missed=missed, next=moment)
                break
            times.append(moment)
        span *= 4
    return Due(last=last, missed=missed, next=next((m for m in _times(text, zone, now)), None))


def _times(text: str, zone: str | None, after: datetime) -> Iterator[datetime]:
    text = text.strip()
    if found := re.fullmatch(r"(?:CRON_)?TZ=(\S+)\s+(.*)", text):
        zone, text = found[1], found[2]
    if text.startswith("@every "):
        yield from _intervals(text.removeprefix("@every "), after)
        return
    expression = _MACROS.get(text, text).replace("?", "*")
    try:
        place = ZoneInfo(zone) if zone and zone not in ("UTC", "Local") else UTC
        simulation = CronSim(expression, after.astimezone(place))
    except (CronSimError, KeyError, ValueError, OSError) as error:
        raise BadSchedule(f"{text!r} {zone or ''}: {error}") from error
    for moment in simulation:
        yield moment.astimezone(UTC)


def _intervals(text: str, after: datetime) -> Iterator[datetime]:
    parts = _PART.findall(text)
    seconds = max(sum(float(number) * _UNITS[unit] for number, unit in parts), 1.0)
    if not parts:
        raise BadSchedule(f"{text!r} is no duration")
    step = timedelta(seconds=int(seconds))
    moment = after.astimezone(UTC).replace(microsecond=0) + step
    while True:
        yield moment
        moment += step
