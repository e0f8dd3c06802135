"""RFC 3339 times as Kubernetes and its clients write them: parsing, formatting and rounding. Pure; knows no clock.

Times are truncated when they enter a status, not when they are read or written: a fraction that another writer set is
preserved, because a time that is set once never changes.
"""

from datetime import UTC, datetime, timedelta

SECOND = timedelta(seconds=1)


def whole_second(moment: datetime) -> datetime:
    """The moment in UTC, truncated to seconds."""
    return _aware(moment).astimezone(UTC).replace(microsecond=0)


def whole_second_after(moment: datetime) -> datetime:
    """The moment itself if it is a whole second, else the next one: never earlier than `moment`."""
    truncated = whole_second(moment)
    return truncated if truncated == moment else truncated + SECOND


def whole_millisecond(moment: datetime) -> datetime:
    """The moment in UTC, truncated to milliseconds, the precision of a status: reading it back gives the same value."""
    moment = _aware(moment).astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def rfc3339(moment: datetime) -> str:
    """`2026-02-07T12:00:00Z`, with a fraction only if there is one. Raises ValueError without a time zone."""
    return _aware(moment).astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def rfc3339_seconds(moment: datetime) -> str:
    """`2026-02-07T12:00:00Z`, truncated: the format of metav1.Time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_milliseconds(moment: datetime) -> str:
    """`2026-02-07T12:00:00.000Z`, always with three decimals, truncated."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def rfc3339_microseconds(moment: datetime) -> str:
    """`2026-02-07T12:00:00.000000Z`, always with six decimals: the format of metav1.MicroTime."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def rfc3339_nanoseconds(nanoseconds: int) -> str:
    """`2026-02-07T12:00:00.000000000Z` for a Unix time in nanoseconds: the format of container logs."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{from_epoch(seconds).isoformat()[:19]}.{rest:09d}Z"


def parse_rfc3339(text: str) -> datetime:
    """The moment in UTC. Raises ValueError for anything that is not a complete RFC 3339 time."""
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


def from_epoch(seconds: float) -> datetime:
    """The moment in UTC of a Unix time."""
    return datetime.fromtimestamp(seconds, UTC)


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone: moments are always in UTC")
    return moment
