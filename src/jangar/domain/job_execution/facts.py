"""What is known of a Job and its pods, as plain values. Decides nothing; `reading` fills them from the objects."""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminated:
    """The end of a container, by the node's clock."""

    exit_code: int
    reason: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    message: str | None = None
    """What the program left as its termination message, untouched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerFacts:
    """One container of a pod; neither running nor terminated means that it waits."""

    name: str
    running: bool = False
    terminated: Terminated | None = None
    waiting_reason: str = ""
    waiting_message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """One pod of a Job."""

    name: str
    uid: str
    created_at: datetime | None = None
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    deleting: bool = False
    deletion_requested_at: datetime | None = None
    deletion_is_final: bool = False
    """The node has released it: the deletion time is then that moment, not the request's."""
    clock_behind: timedelta = timedelta(0)
    """Minimum lag of the node's clock behind the API server's: the pod seems to start before its creation."""
    disrupted: bool = False
    """Kubernetes itself ends it: evicted, preempted, its node drained."""
    disrupted_at: datetime | None = None
    containers: tuple[ContainerFacts, ...] = ()
    init_containers: tuple[ContainerFacts, ...] = ()
    finalizers: tuple[str, ...] = ()
    unschedulable: str | None = None
    """What the scheduler says of a pod that no node takes."""
    grace: timedelta | None = None
    """Between SIGTERM and SIGKILL, as the pod's spec says."""

    @property
    def is_over(self) -> bool:
        """Whether the pod itself has ended, injected containers included."""
        return self.phase in {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """The Job of an attempt."""

    name: str
    uid: str
    created_at: datetime | None = None
    deleting: bool = False
    suspended: bool = False
    """`spec.suspend`: asked for, not yet effective."""
    at_rest: bool = False
    """The Job controller says that it is suspended and that no pod is active or terminating."""
    active: int = 0
    complete: bool = False
    failed: bool = False
    verdict_at: datetime | None = None
    verdict_reason: str | None = None
    verdict_message: str | None = None
    ttl_seconds: int | None = None
    finalizers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateNames:
    """The containers that we asked for, in the template's order; all others were injected."""

    containers: tuple[str, ...]
    init_containers: tuple[str, ...] = ()
