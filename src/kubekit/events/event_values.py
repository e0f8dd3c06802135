"""How much is told by Events, and what was told. Values."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    """How much is told: of one object, at once, and how long is tried."""

    burst: int = 25
    """Records about one object before it must wait for another."""
    refill_seconds: float = 300.0
    """After so long an object may make one more."""
    normal_burst: int = 0
    """Normal Events of all objects at once; 0 does not bound them. Warnings are never held back by it."""
    normal_per_second: float = 0.0
    """How many of them there may be in the long run."""
    patience: float = 0.0
    """Seconds before an Event is written: what it tells of goes on first, and what is said again is counted."""
    similar: int = 25
    """Events about one object that differ in their message alone, before the next ones are combined into one."""
    combined_patience: float = 1.0
    """Seconds between two writes of a combined Event."""
    capacity: int = 4096
    """Events that wait to be written, and that are remembered to be counted."""
    writers: int = 4
    tries: int = 6
    flush_bound: float = 5.0
    """Seconds that the end waits for what is not written yet."""


@dataclass(frozen=True, slots=True)
class RepeatedEvent:
    """An event that was recorded before, with its count and times."""

    uid: str
    type: str
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime

    @property
    def same(self) -> tuple[str, str, str, str]:
        """What makes two of them one."""
        return (self.uid, self.type, self.reason, self.message)
