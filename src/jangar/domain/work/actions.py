"""What a plan for a child's work asks for, beside the steps of stopping and releasing. Each is idempotent."""

from dataclasses import dataclass

from jangar.domain.work.releasing import DeleteJob, DeletePod, ReleaseJob, ReleasePod, SetTtl
from jangar.domain.work.stopping import DeletePods, SuspendJob


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOwner:
    """Read the run that the child belongs to, uncached: none starts work for a run that is being stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWork:
    """Read the Job and its pods uncached."""

    job: str
    since: str | None = None
    """If it is not there: ask the API server's history whether it was, after this version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCreateError:
    """Read the events of a Job that has no pod: only they tell that its pod cannot be created."""

    job: str
    uid: str


Read = ReadOwner | ReadWork | ReadCreateError


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldChild:
    """Put our finalizer on the child, so that it cannot go while its work runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateJob:
    """Create the Job of an attempt. One of that name that the child owns already is this one."""

    name: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndDuplicate:
    """Delete a second pod of the Job and report it."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepLogs:
    """Store the end of the logs of the pod that counts, before the pod is let go."""

    pod: str
    pod_uid: str
    job: str = ""
    title: str = ""
    """Which of several Jobs it is; empty where there is but one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChild:
    """Let a deleted child go; `left` may still run and is named in a warning."""

    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteChild:
    """Delete a child whose time is over."""


WorkAction = (
    HoldChild
    | CreateJob
    | EndDuplicate
    | KeepLogs
    | SuspendJob
    | DeletePods
    | SetTtl
    | ReleaseJob
    | ReleasePod
    | DeletePod
    | DeleteJob
    | ReleaseChild
    | DeleteChild
)
