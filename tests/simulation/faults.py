"""Faults between the controllers and the API server. Plain data: a fault plan reproduces a failure."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

Window = tuple[float, float]
"""Start and end in seconds of the simulation."""


class Death(StrEnum):
    """The point in a write at which the process is killed."""

    BEFORE_SEND = "before the request is sent"
    AFTER_COMMIT = "after the server has committed, before the answer"
    AFTER_ANSWER = "after the answer has arrived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Faults of one life of the controllers. Shares are probabilities per request or event; all of it follows from
    the seed.
    """

    die_at: tuple[int, Death] | None = None
    """The number of the write, from 1."""
    die_after: float | None = None
    """Seconds of life."""
    refusals: float = 0.0
    """429, 500, 503 or 504 as the response, without effect."""
    refused_with: int = 0
    """Always this status."""
    hangs: float = 0.0
    """No effect until the client times out."""
    conflicts: float = 0.0
    lost_answers: float = 0.0
    """The server commits, and the client gets a reset or no response until it times out."""
    lost_requests: float = 0.0
    """The connection breaks before the server has read the request."""
    slow: float = 0.0
    """Maximum delay of requests in seconds."""
    cut_watches: float = 0.0
    """Per event."""
    silent_watches: float = 0.0
    """Per event: from then on the watch sends nothing and does not end."""
    repeats: float = 0.0
    """Per event: it is sent twice."""
    late: float = 0.0
    """Per event: an earlier event of the same watch is sent again after it."""
    lag: float = 0.0
    """Maximum delay of watch events in seconds, in order within one watch."""
    compactions: float = 0.0
    """Seconds between compactions, at which every watch is cut."""
    clock: tuple[Window, ...] = ()
    """The time from which the process's clock is off, and by how many seconds."""
    paused: tuple[Window, ...] = ()
    """The process is paused: its pending requests are sent afterwards."""
    away: tuple[Window, ...] = ()
    """No traffic in either direction."""
    until: float = float("inf")
    """Shares end at this time, so that everything can end."""

    def clock_offset(self, at: float) -> float:
        return next((off for since, off in reversed(self.clock) if at >= since), 0.0)

    @property
    def behind(self) -> float:
        """Maximum seconds by which the process's clock is behind."""
        return max((0.0, *(-off for _, off in self.clock)))

    def as_json(self) -> dict[str, Any]:
        """The fields that differ from a life without faults."""
        plain = Faults()
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values = {name: value for name, value in values.items() if value != getattr(plain, name)}
        if self.die_at is not None:
            values["die_at"] = [self.die_at[0], self.die_at[1].name]
        return values

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Self:
        given = dict(values)
        if "die_at" in given:
            number, name = given["die_at"]
            given["die_at"] = (number, Death[name])
        for name in ("clock", "paused", "away"):
            if name in given:
                given[name] = tuple(tuple(item) for item in given[name])
        return cls(**given)
