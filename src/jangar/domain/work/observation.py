"""What a plan for a child's work is made from: the child, its record, what to run, its Job and pods. Values only."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from jangar.api.lifecycle import Ttl
from jangar.api.phases import OnJobMissing
from jangar.api.reasons import Reason
from jangar.domain.cancellation.request import Requester
from jangar.domain.retention.values import DEFAULT_JOB_TTL, DEFAULT_RUN_RETENTION, Keep
from jangar.domain.work.facts import JobFacts, PodFacts, TemplateNames
from jangar.domain.work.presence import ConfirmedAbsent, NotInCache
from jangar.domain.work.record import Terms, WorkRecord


class Owner(StrEnum):
    """The run that a child belongs to, by an uncached read made in this pass."""

    NONE = "None"
    NOT_READ = "NotRead"
    ACTIVE = "Active"
    STOPPING = "Stopping"
    GONE = "Gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDefined:
    """What is to be run is known and can be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkMissing:
    """What the child names does not exist (yet)."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRejected:
    """What the child names, or what it gives to it, has mistakes."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRefused:
    """The API server refused to create the Job, for good."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildFacts:
    """The child as its spec and metadata say."""

    name: str
    uid: str
    generation: int
    created_at: datetime
    requested_by: frozenset[Requester] = frozenset()
    deleted_at: datetime | None = None
    suspend: bool = False
    stop_deadline: datetime | None = None
    """Given by the run together with its request to stop."""
    timeout: timedelta | None = None
    on_job_missing: OnJobMissing = OnJobMissing.FAIL
    ttl: Ttl | None = None
    job_ttl: Ttl | None = None
    """What the work itself asks for, such as its Tool."""
    terms: Terms | None = None
    """What an attempt that starts now is started under."""
    is_held: bool = True
    """It carries our finalizer; nothing starts before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """What the operator set."""

    cancel_enabled: bool = True
    cancel_timeout: timedelta = timedelta(seconds=60)
    request_timeout: timedelta = timedelta(seconds=10)
    lease_duration: timedelta = timedelta(seconds=15)
    cleanup_interval: timedelta = timedelta(seconds=10)
    note_after: timedelta = timedelta(seconds=2)
    """How long the sight of a new Job may wait for another change to be recorded with."""
    job_ttl: Keep | None = DEFAULT_JOB_TTL
    retention: Keep | None = DEFAULT_RUN_RETENTION
    orchestration_retention: Keep | None = None
    """Wins over the other for children that are not agents' (GC-5)."""
    history_enabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkObservation:
    """Everything a plan may look at."""

    child: ChildFacts
    work: WorkDefined | WorkMissing | WorkRejected | WorkRefused
    template: TemplateNames
    recorded: WorkRecord = field(default_factory=WorkRecord)
    owner: Owner = Owner.NONE
    job: JobFacts | NotInCache | ConfirmedAbsent = field(default_factory=NotInCache)
    pods: tuple[PodFacts, ...] = ()
    job_version: str | None = None
    """Everything that happened to Jobs up to this version of the API server's data is in the cache."""
    live: bool = False
    """Job and pods are the API server's word, not the cache's."""
    logs_kept: bool = True
    """Nothing of the pods' logs is left to be stored."""
    limits: WorkLimits = field(default_factory=WorkLimits)
