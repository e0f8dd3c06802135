"""Everything that admission may look at: runs that are live, were admitted lately, or wait. Values, no rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jangar.domain.policies.request import RunRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """One that holds a place: admitted, or started before there was admission, and not ended."""

    namespace: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """One that counts for rates, ended or not."""

    namespace: str
    repository: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """One that nothing was decided about for good."""

    uid: str
    namespace: str
    name: str
    created_at: datetime
    request: RunRequest
    suspended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All runs at one moment."""

    live: Sequence[LiveRun] = ()
    admitted: Sequence[Admitted] = ()
    """At least those within the rate's window."""
    waiting: Sequence[WaitingRun] = ()
    started: Sequence[str] = ()
    """Uids of live runs without an admission: they started before admission was enabled."""
    served_at: Mapping[str, datetime] = field(default_factory=dict)
    """By namespace, when one of its runs was last admitted, as far as that is known."""
