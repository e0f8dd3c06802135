"""The input of the planner: the run, its record, its definition, its children, and the operator's limits.

Children of all kinds have the same form, `ChildSeen`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum

from jangar.api.orchestration import Policies
from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Requester
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.state import RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSeen:
    """A child as it was last read."""

    name: str
    uid: str
    phase: Phase
    created_at: datetime
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None
    exit_code: int | None = None
    outputs: Mapping[str, str] | None = None
    deleting: bool = False
    suspended: bool = False
    stop_requested: bool = False
    """The request to stop has reached its spec."""
    left_behind: bool = False
    """It ended, but its own work had not ended at the deadline and may still be running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildGone:
    """An uncached read found no such child. A child that is only missing in the cache is not gone."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRefused:
    """The API server refuses the child permanently."""

    name: str
    reason: str
    message: str
    failure: Reason = Reason.START_REFUSED
    """The reason for the failure of the attempt."""


Child = ChildSeen | ChildGone | ChildRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionMissing:
    """The definition that the run names does not exist (yet)."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionRejected:
    """The definition that the run names is invalid."""

    problems: Sequence[Problem]


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotConflict:
    """Another object has the name of the run's snapshot, or its content was changed."""

    message: str


class ChildrenRead(IntEnum):
    """Which uncached reads of children were made since the cancel was recorded."""

    NOT_YET = 0
    AFTER_CANCEL = 1
    AFTER_REQUEST_TIMEOUT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The run's spec and metadata."""

    name: str
    uid: str
    generation: int
    created_at: datetime
    requested_by: frozenset[Requester] = frozenset()
    deleted_at: datetime | None = None
    """When deletion was requested; the finalizer stays until the run's work has stopped."""
    suspend: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    policies: Policies | None = None
    lineage: tuple[str, ...] = ()
    """Orchestrations that contain this run, outermost first, its own name last."""
    stop_deadline: datetime | None = None
    """Deadline from the parent run's request to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The operator's limits."""

    cancel_enabled: bool = True
    cancel_timeout: timedelta = timedelta(seconds=60)
    child_margin: timedelta = timedelta(seconds=2)
    """How much earlier a child's deadline is than its parent's."""
    request_timeout: timedelta = timedelta(seconds=10)
    cleanup_interval: timedelta = timedelta(seconds=10)
    max_depth: int = 10
    supported_kinds: Collection[str] | None = None
    """Step kinds that may start; None: all that create a child."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that the plan depends on."""

    run: RunFacts
    definition: Definition | DefinitionMissing | DefinitionRejected | SnapshotConflict
    recorded: RunRecord = field(default_factory=RunRecord)
    children: Mapping[str, Child] = field(default_factory=dict)
    """By name. A child that is missing here was not in the cache, which proves nothing."""
    pinned: bool = True
    """The snapshot of the definition is stored; nothing starts before."""
    children_read: ChildrenRead = ChildrenRead.NOT_YET
    reused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Steps kept from the run that this one retries, with their outputs."""
    history_pending: bool = False
    """The end of the run or of one of its children is not stored in history yet."""
    limits: Limits = field(default_factory=Limits)
