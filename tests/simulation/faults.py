"""What can go wrong between the controllers and the API server. Plain data: a plan of it reproduces a failure."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self

Window = tuple[float, float]
"""From and until, in seconds of the simulation."""


class Death(StrEnum):
    """Where in a write the process is killed."""

    BEFORE_SEND = "before the request is sent"
    AFTER_COMMIT = "after the server has committed, before the answer"
    AFTER_ANSWER = "after the answer has arrived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Of one life of the controllers. Shares are chances of one request or event; all of it follows from the seed."""

    die_at: tuple[int, Death] | None = None
    """The write, counted from 1."""
    die_after: float | None = None
    """Seconds of life."""
    refusals: float = 0.0
    """429, 500, 503, 504 instead of an answer, nothing done."""
    refused_with: int = 0
    """Always this one of them."""
    hangs: float = 0.0
    """Nothing happens until the client gives up."""
    conflicts: float = 0.0
    lost_answers: float = 0.0
    """The server commits, the client hears a reset, or nothing until it times out."""
    lost_requests: float = 0.0
    """The connection breaks before the server has read the request."""
    slow: float = 0.0
    """Seconds by which requests may arrive late."""
    cut_watches: float = 0.0
    """Of each event."""
    silent_watches: float = 0.0
    """Of each event: from then on the watch tells nothing, and does not end either."""
    repeats: float = 0.0
    """Of each event: it is told twice."""
    late: float = 0.0
    """Of each event: an older one of the same watch is told again after it."""
    lag: float = 0.0
    """Seconds by which events of watches may come late, in order within one watch."""
    compactions: float = 0.0
    """Seconds between moments at which the server forgets its past and cuts every watch."""
    clock: tuple[Window, ...] = ()
    """From when on the process's clock is how many seconds off."""
    paused: tuple[Window, ...] = ()
    """The process stands still: what it was about to send is sent afterwards."""
    away: tuple[Window, ...] = ()
    """Nothing gets through in either direction."""
    until: float = float("inf")
    """Shares end at this time, so that everything can come to its end."""

    def clock_offset(self, at: float) -> float:
        return next((off for since, off in reversed(self.clock) if at >= since), 0.0)

    @property
    def behind(self) -> float:
        """Seconds by which the process's clock is behind at most."""
        return max((0.0, *(-off for _, off in self.clock)))

    def as_json(self) -> dict[str, Any]:
        """Only what differs from a life without faults."""
        plain = Faults()
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        found = {name: value for name, value in found.items() if value != getattr(plain, name)}
        if self.die_at is not None:
            found["die_at"] = [self.die_at[0], self.die_at[1].name]
        return found

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Self:
        given = dict(found)
        if "die_at" in given:
            number, name = given["die_at"]
            given["die_at"] = (number, Death[name])
        for name in ("clock", "paused", "away"):
            if name in given:
                given[name] = tuple(tuple(item) for item in given[name])
        return cls(**given)
