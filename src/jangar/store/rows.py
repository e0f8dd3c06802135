"""The rows of the history and the queries for them, as values. Knows no database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A finished OrchestrationRun, AgentRun or ToolRun."""

    uid: str
    kind: str
    namespace: str
    name: str
    version: int
    """The resourceVersion at which it was read: the row with the higher one wins."""
    phase: str
    created_at: datetime
    finished_at: datetime
    updated_at: datetime
    """When its status was last written."""
    root_uid: str
    """The root run; its own uid for a root run."""
    owner_uid: str | None = None
    """The run of which it is a step."""
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
    """Location of the whole log while the objects of the work existed."""
    owner_name: str | None = None
    retry_of: str | None = None
    """Name of the run that it retries."""
    created_by: str | None = None
    cancel_requested: bool | None = None
    steps_ended: int | None = None
    steps_total: int | None = None
    counts: Mapping[str, int] | None = None
    """Number of its steps by phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A run in a list, without its large fields."""

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
    """A finished step."""

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
    """Everything that is stored of one object, in one transaction."""

    run: RunRow
    steps: tuple[StepRow, ...] = ()
    log_tail: str | None = None
    whole: "StoredObject | None" = None
    key: str | None = None
    """The idempotency key with which it was created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """The log tail of one of several Jobs of a child."""

    job: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """The last version of an object with all of its steps, and the definition that it executed."""

    obj: Mapping[str, Any]
    definition: bytes | None = None
    """The compressed snapshot of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """A Kubernetes Event of an object, with its count."""

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
    """A change that was made or rejected."""

    at: datetime
    actor: str
    action: str
    namespace: str
    kind: str
    name: str
    uid: str | None = None
    status: int
    """The HTTP status code of the response."""
    detail: str | None = None
    number: int | None = None
    """Its number in the audit log; assigned by the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """An idempotency key, unique within namespace and kind, and the object that was created with it."""

    namespace: str
    kind: str
    key: str
    digest: str
    """Digest of the request: the same key with another request is an error."""
    name: str
    uid: str | None = None
    """None until the object is known to exist."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Times before which rows are deleted; None deletes none."""

    runs: datetime | None = None
    """Runs by their end, with their other rows and idempotency keys."""
    tails: datetime | None = None
    audits: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Which version of an object is stored."""

    updated_at: datetime
    has_log_tail: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Position in a list by end time; the next page begins after it."""

    finished_at: datetime
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Filters of a list of finished runs, the last to finish first."""

    namespace: str | None = None
    kinds: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    name: str | None = None
    owner_uid: str | None = None
    roots_only: bool = True
    """Exclude nested runs."""
    finished_after: datetime | None = None
    after: Position | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Position in a list by creation time; the next page begins after it."""

    created_at: datetime
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Filters of a list of runs of one kind, the newest created first."""

    kind: str
    namespaces: tuple[str, ...] | None = None
    """None means all."""
    phases: tuple[str, ...] = ()
    definition: str | None = None
    text: str = ""
    created_after: datetime | None = None
    roots_only: bool = True
    after: Place | None = None
    limit: int = 100
