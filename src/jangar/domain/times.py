"""Moments as Kubernetes writes them: RFC 3339, UTC, whole seconds. Knows text and rounding; knows no clock.

Times are truncated when they enter a status, not when they are read or written: a fraction that another writer
set is preserved, because a time that is set once never changes.
"""

from datetime import UTC, datetime, timedelta

SECOND = timedelta(seconds=1)


def whole_second(moment: datetime) -> datetime:
    """The second in which the moment lies, in UTC."""
    return _aware(moment).astimezone(UTC).replace(microsecond=0)


def whole_second_after(moment: datetime) -> datetime:
    """The moment itself if it is a whole second, else the next one: never earlier than what was given."""
    cut = whole_second(moment)
    return cut if cut == moment else cut + SECOND


def rfc3339(moment: datetime) -> str:
    """`2026-02-07T12:00:00Z`; a fraction is written only where there is one."""
    return _aware(moment).astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def parse_rfc3339(text: str) -> datetime:
    """The moment in UTC; raises ValueError for anything that is not a complete RFC 3339 time."""
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time such as 2026-02-07T12:00:00Z") from error
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it as 2026-02-07T12:00:00Z")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} is out of range") from error


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone: moments are always in UTC")
    return moment


def whole_millisecond(moment: datetime) -> datetime:
    """The moment in UTC, truncated to milliseconds, the precision of a status: reading it back gives the same value."""
    moment = _aware(moment).astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
