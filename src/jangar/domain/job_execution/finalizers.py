"""How a Job and its pods are released once their outcome is recorded: set the TTL, then remove our finalizers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.retention.values import Keep

OUTCOME_FINALIZER = "jangar.proompteng.ai/outcome"
"""Keeps a Job and its pods until their outcome is recorded."""
CLEANUP_FINALIZER = "jangar.proompteng.ai/cleanup"
"""Keeps a run or child until its work is stopped and released."""


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


ReleaseStep = SetTtl | ReleaseJob | ReleasePod | DeletePod | DeleteJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What to do now, in this order, and when to requeue; neither means that no finalizer is left."""

    steps: tuple[ReleaseStep, ...] = ()
    look_again_at: datetime | None = None


def release(
    job: JobFacts | None,
    pods: Sequence[PodFacts],
    *,
    acknowledged: bool,
    gave_up: bool = False,
    lifetime: Keep,
    floor: timedelta,
    now: datetime,
) -> Release:
    """The steps that release the Job and its pods; none before the write of the outcome is acknowledged.

    `lifetime` is the TTL that the Job gets (`job_lifetime`), `floor` the time for which its name must stay in use.
    `gave_up`: the attempt ended while its work may still run; its pods keep the finalizer until they have ended.
    """
    if not acknowledged:
        return Release()
    steps = [step for pod in pods for step in release_pod(pod, gave_up=gave_up)]
    if job is None or (gave_up and not all(pod.is_over for pod in pods)):
        return Release(steps=tuple(steps))
    free_at = job.created_at + floor if job.created_at else now
    if job.deleting:
        if now < free_at:
            return Release(steps=tuple(steps), look_again_at=free_at)
        return Release(steps=(*steps, *release_job(job)))
    if lifetime.seconds is not None and job.ttl_seconds != lifetime.seconds:
        steps.append(SetTtl(name=job.name, uid=job.uid, seconds=lifetime.seconds))
    steps.extend(release_job(job))
    if not job.suspended:
        return Release(steps=tuple(steps))
    if now < free_at:
        return Release(steps=tuple(steps), look_again_at=free_at)
    return Release(steps=(*steps, DeleteJob(name=job.name, uid=job.uid)))


def release_pod(pod: PodFacts, *, gave_up: bool) -> list[ReleaseStep]:
    """A pod that is only being torn down is left to end by itself: deleting it would keep its Job from completing."""
    steps: list[ReleaseStep] = []
    kept_alive = gave_up or any(container.running for container in pod.containers)
    if kept_alive and not pod.is_over and not pod.deleting:
        steps.append(DeletePod(name=pod.name, uid=pod.uid))
    patch = our_finalizer_patch(pod.finalizers, frozenset({OUTCOME_FINALIZER}))
    if patch and (pod.is_over or not gave_up):
        steps.append(ReleasePod(name=pod.name, uid=pod.uid, patch=patch))
    return steps


def release_job(job: JobFacts) -> list[ReleaseStep]:
    """Our finalizer off the Job, if it is there."""
    patch = our_finalizer_patch(job.finalizers, frozenset({OUTCOME_FINALIZER}))
    return [ReleaseJob(name=job.name, uid=job.uid, patch=patch)] if patch else []


def our_finalizer_patch(finalizers: Sequence[str], ours: frozenset[str]) -> tuple[dict[str, Any], ...]:
    """A JSON patch that removes only ours, from the last to the first; empty if there is none.

    Each removal tests what it removes: if the list has changed meanwhile, the API server rejects the whole patch.
    """
    patch: list[dict[str, Any]] = []
    for index in reversed(range(len(finalizers))):
        if finalizers[index] in ours:
            path = f"/metadata/finalizers/{index}"
            patch += [
                {"op": "test", "path": path, "value": finalizers[index]},
                {"op": "remove", "path": path},
            ]
    return tuple(patch)
