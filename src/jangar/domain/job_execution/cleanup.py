"""Cleanup of a child's work: store logs, release the Job and its pods, stop what is left, remove the finalizers.

Repeated until no finalizer is left. Changes no phase.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from jangar.domain.cancellation import LeftBehind
from jangar.domain.job_execution.actions import (
    DeleteChild,
    DeleteJob,
    DeletePod,
    Read,
    ReadWork,
    ReleaseJob,
    ReleasePod,
    RemoveChildFinalizer,
    SetTtl,
    StoreLogs,
    SuspendJob,
    WorkAction,
)
from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.job_execution.observation import Owner, WorkObservation
from jangar.domain.job_execution.outcome import first_pod
from jangar.domain.job_execution.record import JobNote, WorkRecord
from jangar.domain.job_execution.recording import job_ttl, run_retention
from jangar.domain.retention import Delete, FinishedRun, Keep, job_floor, may_delete

OUTCOME_FINALIZER = "jangar.proompteng.ai/outcome"
"""Keeps a Job and its pods until their outcome is recorded."""
CLEANUP_FINALIZER = "jangar.proompteng.ai/cleanup"
"""Keeps a run or child until its work is stopped and released."""


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


def logs_to_keep(observation: WorkObservation, record: WorkRecord) -> tuple[StoreLogs, ...]:
    """That of the Job that is noted, unless it is stored already or has no pod."""
    note = record.job
    if observation.logs_kept or note is None:
        return ()
    pod = first_pod(observation.pods, recorded_uid=note.pod_uid)
    if pod is None:
        return ()
    title = _title(note) if record.stages or record.attempts else ""
    return (StoreLogs(pod=pod.name, pod_uid=pod.uid, job=note.name, title=title),)


def _title(note: JobNote) -> str:
    parts = (
        f"step {note.step}" if note.step else "",
        f"iteration {note.iteration}" if note.iteration else "",
        f"attempt {note.attempt}",
    )
    return ", ".join(item for item in parts if item)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCleanup:
    """What to read or do now, and the current list of what was left behind."""

    left_behind: tuple[LeftBehind, ...] = ()
    reads: tuple[Read, ...] = ()
    actions: tuple[WorkAction, ...] = ()
    look_again_at: datetime | None = None


def plan_cleanup(observation: WorkObservation, record: WorkRecord, now: datetime) -> JobCleanup:
    """The next cleanup of a child whose outcome is recorded."""
    if _needs_live_read(observation, record) and record.job is not None:
        return JobCleanup(left_behind=record.left_behind, reads=(ReadWork(job=record.job.name),))
    left = tuple(_with_end(item, observation, record, now) for item in record.left_behind)
    still_running = [item for item in left if item.ended_at is None]
    released = _release(observation, gave_up=bool(still_running), now=now)
    actions: list[WorkAction] = [
        *logs_to_keep(observation, record),
        *_stop_again(observation, still_running),
        *released.steps,
    ]
    times = [released.look_again_at]
    if still_running:
        times.append(now + observation.limits.cleanup_interval)
    deletion = _plan_deletion(
        observation,
        replace(record, left_behind=left),
        busy=bool(still_running or actions or released.look_again_at),
        now=now,
    )
    return JobCleanup(
        left_behind=left,
        reads=deletion.reads,
        actions=(*actions, *(action for action in deletion.actions if action not in actions)),
        look_again_at=min((time for time in (*times, deletion.look_again_at) if time), default=None),
    )


def _release(observation: WorkObservation, *, gave_up: bool, now: datetime) -> Release:
    limits = observation.limits
    return release(
        observation.job if isinstance(observation.job, JobFacts) else None,
        observation.pods,
        acknowledged=True,
        gave_up=gave_up,
        lifetime=job_ttl(observation).keep,
        floor=job_floor(lease_duration=limits.lease_duration, request_timeout=limits.request_timeout),
        now=now,
    )


def _stop_again(observation: WorkObservation, still_running: list[LeftBehind]) -> list[WorkAction]:
    """A Job that is still running after its stop may not have received the request."""
    job = observation.job
    if still_running and isinstance(job, JobFacts) and not (job.suspended or job.deleting):
        return [SuspendJob(name=job.name, uid=job.uid)]
    return []


def _needs_live_read(observation: WorkObservation, record: WorkRecord) -> bool:
    """Whether a leftover has no pod in the cache: only a live read confirms that it is gone."""
    return not observation.live and any(
        item.ended_at is None and not _pods_of(item, observation) for item in record.left_behind
    )


def _pods_of(left: LeftBehind, observation: WorkObservation) -> list[PodFacts]:
    return [pod for pod in observation.pods if left.kind != "Pod" or pod.uid == left.uid]


def _with_end(
    left: LeftBehind, observation: WorkObservation, record: WorkRecord, now: datetime
) -> LeftBehind:
    """With its end, if it is certain."""
    if left.ended_at is not None:
        return left
    pods = _pods_of(left, observation)
    if pods:
        has_ended = all(_has_ended(pod, observation) for pod in pods)
    else:
        has_ended = observation.live and (left.kind == "Pod" or _no_pod_can_appear(observation, record, now))
    return replace(left, ended_at=now) if has_ended else left


def _no_pod_can_appear(observation: WorkObservation, record: WorkRecord, now: datetime) -> bool:
    """Whether a Job without pods gets none: it is gone, deleted, finished or suspended, and no create is in flight."""
    job = observation.job
    if isinstance(job, JobFacts):
        return job.deleting or job.at_rest or job.complete or job.failed
    seen = record.job is not None and record.job.recorded.was_there
    return seen or record.stop is None or now >= record.stop.requested_at + observation.limits.request_timeout


def _has_ended(pod: PodFacts, observation: WorkObservation) -> bool:
    names = observation.template.containers
    containers = [container for container in pod.containers if container.name in names]
    return pod.is_over or (len(containers) == len(names) and all(item.terminated for item in containers))


def _plan_deletion(
    observation: WorkObservation, record: WorkRecord, *, busy: bool, now: datetime
) -> JobCleanup:
    """Deletion of the child itself: on request, or when its retention has expired."""
    child = observation.child
    if child.deleted_at is not None:
        return _release_child(observation, record, child.deleted_at, busy=busy, now=now)
    verdict = may_delete(
        FinishedRun(
            finished_at=record.lifecycle.finished_at, keep=run_retention(observation).keep, cleaning_up=busy
        ),
        history_stored=not observation.history_pending,
        history_enabled=observation.limits.history_enabled,
        is_root=observation.owner is Owner.NONE,
        now=now,
    )
    if not isinstance(verdict, Delete):
        return JobCleanup(look_again_at=verdict.look_again_at)
    if now < (free_at := _name_free_at(observation, now)):
        return JobCleanup(look_again_at=free_at)
    return JobCleanup(actions=(DeleteChild(),))


def _name_free_at(observation: WorkObservation, now: datetime) -> datetime:
    """Deleting the child deletes its Job; until then a late create must conflict with the name (DAG-9)."""
    job, limits = observation.job, observation.limits
    if not isinstance(job, JobFacts) or job.created_at is None:
        return now
    return job.created_at + job_floor(
        lease_duration=limits.lease_duration, request_timeout=limits.request_timeout
    )


def _release_child(
    observation: WorkObservation, record: WorkRecord, deleted_at: datetime, *, busy: bool, now: datetime
) -> JobCleanup:
    """Keep the finalizer until the work is stopped and released and history is stored, or until the cancel timeout
    (GC-9).
    """
    if not observation.child.has_finalizer:
        return JobCleanup()
    if record.job is not None and not observation.live:
        return JobCleanup(reads=(ReadWork(job=record.job.name),))
    bound = deleted_at + observation.limits.cancel_timeout
    if (busy or observation.history_pending) and now < bound:
        return JobCleanup(look_again_at=bound)
    left = tuple(item.name for item in record.left_behind if item.ended_at is None)
    return JobCleanup(actions=(*_release_work(observation), RemoveChildFinalizer(left=left)))


def _release_work(observation: WorkObservation) -> list[WorkAction]:
    """Remove our finalizers now: once the child is gone, nothing else would."""
    job = observation.job
    steps: list[WorkAction] = [step for pod in observation.pods for step in release_pod(pod, gave_up=False)]
    return [*steps, *(release_job(job) if isinstance(job, JobFacts) else ())]
