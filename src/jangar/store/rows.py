"""What history holds: a run or child as it ended, its steps, the last lines of its log. Values; knows no database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """An OrchestrationRun, AgentRun or ToolRun as it ended."""

    uid: str
    kind: str
    namespace: str
    name: str
    version: int
    """The resourceVersion that it was read at: of two rows of one object the newer one counts."""
    phase: str
    created_at: datetime
    finished_at: datetime
    updated_at: datetime
    """When its status was last written."""
    root_uid: str
    """The run at the top; its own uid if it is that."""
    owner_uid: str | None = None
    """The run that it is a step of."""
    step: str | None = None
    attempt: int | None = None
    definition: str | None = None
    """Name of the Orchestration, Agent or Tool."""
    started_at: datetime | None = None
    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    outcome: Mapping[str, Any] | None = None
    outputs: Mapping[str, str] | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    log_location: str | None = None
    """Where the whole log was while the work's own objects were there."""
    owner_name: str | None = None
    retry_of: str | None = None
    """Name of the run that it repeats."""
    created_by: str | None = None
    cancel_requested: bool | None = None
    steps_ended: int | None = None
    steps_total: int | None = None
    counts: Mapping[str, int] | None = None
    """Of its steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A run as a list shows it: without what may be big."""

    uid: str
    namespace: str
    name: str
    phase: str
    created_at: datetime
    finished_at: datetime
    started_at: datetime | None
    definition: str | None
    reason: str | None
    message: str | None
    owner_name: str | None
    retry_of: str | None
    created_by: str | None
    cancel_requested: bool | None
    steps_ended: int | None
    steps_total: int | None
    counts: Mapping[str, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A step as it ended."""

    position: int
    name: str
    kind: str
    phase: str
    reason: str | None = None
    message: str | None = None
    attempt: int | None = None
    child_name: str | None = None
    child_uid: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    outputs: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Everything that is stored of one object, at once or not at all."""

    run: RunRow
    steps: tuple[StepRow, ...] = ()
    log_tail: str | None = None
    whole: "StoredObject | None" = None
    key: str | None = None
    """The idempotency key that it was made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """The end of the log of one Job among several."""

    job: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object as it was last seen, with all of its steps, and what it executed."""

    obj: Mapping[str, Any]
    definition: bytes | None = None
    """As it was packed for the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """Something that was told about an object, so often."""

    uid: str
    type: str
    reason: str
    message: str
    source: str
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """Somebody changed something, or was refused."""

    at: datetime
    actor: str
    action: str
    namespace: str
    kind: str
    name: str
    uid: str | None = None
    status: int
    """As HTTP answered it."""
    detail: str | None = None
    number: int | None = None
    """Its place in the trail; the database gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """An idempotency key, unique within namespace and kind, and what was made with it."""

    namespace: str
    kind: str
    key: str
    digest: str
    """Of the order: the same key for another order is a mistake."""
    name: str
    uid: str | None = None
    """None until it is known that the object was made."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What is deleted: whatever ended, was stored or happened before these times; None deletes none."""

    runs: datetime | None = None
    """With all that is stored of them, and the idempotency keys that they were made with."""
    tails: datetime | None = None
    audits: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What history already has of an object."""

    updated_at: datetime
    has_log_tail: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a list, newest first; the next page begins behind it."""

    finished_at: datetime
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which runs a list shows."""

    namespace: str | None = None
    kinds: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    name: str | None = None
    owner_uid: str | None = None
    roots_only: bool = True
    """Without those that are a step of another."""
    finished_after: datetime | None = None
    after: Position | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in a list of runs, the newest created first."""

    created_at: datetime
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which runs of one kind a list shows, the newest created first."""

    kind: str
    namespaces: tuple[str, ...] | None = None
    """None for all."""
    phases: tuple[str, ...] = ()
    definition: str | None = None
    text: str = ""
    created_after: datetime | None = None
    roots_only: bool = True
    after: Place | None = None
    limit: int = 100
