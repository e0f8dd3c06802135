"""What admission can say about a run. Knows the answers, not how they come about."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from jangar.api.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """It may start."""

    reason: Reason = Reason.WITHIN_LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    """It never starts: the message says why and what to do."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """It waits."""

    reason: Reason
    message: str
    position: int | None = None
    """Its place among those of its namespace that wait, from 1; None for one that has no place in the queue."""
    look_again_at: datetime | None = None
    """When time alone may change that; None where something must end or appear first."""


Verdict: TypeAlias = Allow | Deny | Hold
