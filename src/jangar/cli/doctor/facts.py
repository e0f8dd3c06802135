"""What the doctor looks at: plain values, read from an API by `examination`, judged by `checks`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

Objects = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One control plane at one moment. None stands for what could not be read."""

    now: datetime
    server: str
    cli_version: str
    is_laptop: bool
    laptop_version: str = ""
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of a laptop: what is wrong with each part of it."""
    definitions: Objects | None = ()
    """The CRDs there are."""
    wanted: Objects = ()
    """The CRDs of this version."""
    leases: Objects | None = ()
    """Leases by which controllers agree."""
    lease_name: str = ""
    runs: Mapping[str, Objects | None] = field(default_factory=dict)
    """By the kind of run."""
    jobs: Objects | None = ()
    """Jobs that carry our label."""
    pods: Objects | None = ()
    """Pods that carry our label."""
    cancel_bound: timedelta = timedelta(seconds=60)
    unread: Mapping[str, str] = field(default_factory=dict)
    """What could not be read, and why."""
    nodes: Objects | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ailment:
    """One thing that is wrong, and what to do about it."""

    message: str
    fix: str
    subject: str = ""
    """`OrchestrationRun default/nightly`, where it is about an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. Without ailments it is well."""

    name: str
    found: str
    """What is told when it is well."""
    ailments: tuple[Ailment, ...] = ()
    skipped: str = ""
    """Why it could not be looked at."""
