"""What a plan for a child's work is made from: the child, its record, what to run, its Job and pods. Values only."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from jangar.api.lifecycle import Ttl
from jangar.api.phases import OnJobMissing
from jangar.domain.cancellation import Requester
from jangar.domain.job_execution.facts import JobFacts, PodFacts, TemplateNames
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache
from jangar.domain.job_execution.record import AttemptLimits, WorkRecord
from jangar.domain.job_execution.workflow import RuntimeStep
from jangar.domain.retention import DEFAULT_JOB_TTL, DEFAULT_RUN_RETENTION, Keep


class Owner(StrEnum):
    """The run that a child belongs to, by an uncached read made in this pass."""

    NONE = "None"
    NOT_READ = "NotRead"
    ACTIVE = "Active"
    STOPPING = "Stopping"
    GONE = "Gone"
    NOT_RECORDED_YET = "NotRecordedYet"
    """The run has not recorded this attempt; a run that lost its status will."""
    NOT_CONFIRMED = "NotConfirmed"
    """The run's record says that it started something else, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDefined:
    """What is to be run is known and can be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkMissing:
    """What the child names does not exist (yet)."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRejected:
    """What the child names, or what it gives to it, has mistakes; or a policy denies it."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkHeld:
    """It may not start yet: it waits for admission."""

    reason: str
    message: str
    by_policy: bool = True
    """A policy holds it; otherwise no decision has been made yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRefused:
    """The API server refused to create the Job, for good."""

    message: str


Work = WorkDefined | WorkMissing | WorkRejected | WorkHeld


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
    retries: int = 0
    """How often a failed attempt is repeated."""
    attempt_limits: AttemptLimits | None = None
    """What an attempt that starts now is started under."""
    has_finalizer: bool = True
    """It has our finalizer; nothing starts before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """What the operator set."""

    cancel_enabled: bool = True
    cancel_timeout: timedelta = timedelta(seconds=60)
    request_timeout: timedelta = timedelta(seconds=10)
    lease_duration: timedelta = timedelta(seconds=15)
    cleanup_interval: timedelta = timedelta(seconds=10)
    note_after: timedelta = timedelta(seconds=2)
    """How long the observation of a new Job may wait to be recorded together with another change."""
    create_patience: timedelta = timedelta(seconds=5)
    """How long a Job may have no pod before its events are read for the reason."""
    create_interval: timedelta = timedelta(seconds=30)
    """Between two such reads of the same Job."""
    job_ttl: Keep | None = DEFAULT_JOB_TTL
    retention: Keep | None = DEFAULT_RUN_RETENTION
    orchestration_retention: Keep | None = None
    """Wins over the other for children that are not agents' (GC-5)."""
    history_enabled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkObservation:
    """Everything a plan may look at."""

    child: ChildFacts
    work: Work | WorkRefused
    template: TemplateNames
    workflow: tuple[RuntimeStep, ...] = ()
    """The steps of the workflow, if the work has more than one Job."""
    has_runner: bool = False
    """The result of the work has a member of the runner's own, which is no output."""
    recorded: WorkRecord = field(default_factory=WorkRecord)
    owner: Owner = Owner.NONE
    job: JobFacts | NotInCache | ConfirmedAbsent = field(default_factory=NotInCache)
    pods: tuple[PodFacts, ...] = ()
    job_version: str | None = None
    """Everything that happened to Jobs up to this version of the API server's data is in the cache."""
    live: bool = False
    """Job and pods were read from the API server, not from the cache."""
    create_error: str | None = None
    """What the Job controller last said of a pod that it could not create; empty if nothing, None if not read."""
    logs_kept: bool = True
    """Nothing of the pods' logs is left to be stored."""
    history_pending: bool = False
    """Its end is still to be stored in history, where one is kept."""
    limits: WorkLimits = field(default_factory=WorkLimits)
