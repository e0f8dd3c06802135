"""Actions and reads of a plan for a child's Job. Each is idempotent."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTtl:
    """Set the Job's `ttlSecondsAfterFinished`, before its finalizer is removed."""

    name: str
    uid: str
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseJob:
    """Remove our finalizer from the Job with this JSON patch."""

    name: str
    uid: str
    patch: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePod:
    """Remove our finalizer from the pod with this JSON patch."""

    name: str
    uid: str
    patch: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete a pod that only injected containers keep alive."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteJob:
    """Delete a Job that will never complete, now that its outcome is recorded."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendJob:
    """Set `spec.suspend`: its pod gets TERM and its grace period, and the Job stays."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePods:
    """Delete these gracefully: their Job is gone or being deleted, and nothing else stops them."""

    uids: tuple[str, ...]
    look_again_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOwner:
    """Read the owning run, uncached: a run that is being stopped must not start new work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWork:
    """Read the Job and its pods uncached."""

    job: str
    since: str | None = None
    """If it does not exist: check the watch history after this resourceVersion for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCreateError:
    """Read the events of a Job that has no pod: they are the only sign that the pod cannot be created."""

    job: str
    uid: str


Read = ReadOwner | ReadWork | ReadCreateError


@dataclass(frozen=True, slots=True, kw_only=True)
class AddChildFinalizer:
    """Add our finalizer to the child: it cannot be removed while its work runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateJob:
    """Create the Job of an attempt; a Job with that name that the child owns is the same one."""

    name: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndDuplicate:
    """Delete a second pod of the Job and report it."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLogs:
    """Store the log tail of the pod whose outcome counts, before its finalizer is removed."""

    pod: str
    pod_uid: str
    job: str = ""
    title: str = ""
    """Distinguishes several Jobs of a child; empty if there is only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveChildFinalizer:
    """Remove our finalizer from a deleted child; `left` may still be running and is named in a warning."""

    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteChild:
    """Delete a child whose retention has expired."""


WorkAction = (
    AddChildFinalizer
    | CreateJob
    | EndDuplicate
    | StoreLogs
    | SuspendJob
    | DeletePods
    | SetTtl
    | ReleaseJob
    | ReleasePod
    | DeletePod
    | DeleteJob
    | RemoveChildFinalizer
    | DeleteChild
)
