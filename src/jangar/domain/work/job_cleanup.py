"""What is left to do about a child that has ended: keep its logs, let its work go, clean up, and let it go itself.

Goes on until nothing is held. Knows that the outcome is recorded; changes no phase.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from jangar.domain.cancellation.stop import LeftBehind
from jangar.domain.retention.decide import Delete, FinishedRun, may_delete
from jangar.domain.retention.values import job_floor
from jangar.domain.work.actions import DeleteChild, Read, ReadWork, ReleaseChild, WorkAction
from jangar.domain.work.facts import JobFacts, PodFacts
from jangar.domain.work.logs import logs_to_keep
from jangar.domain.work.observation import Owner, WorkObservation
from jangar.domain.work.record import WorkRecord
from jangar.domain.work.recording import job_ttl, run_retention
from jangar.domain.work.releasing import Release, release, release_job, release_pod
from jangar.domain.work.stopping import SuspendJob


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCleanup:
    """What to read or do now, and the list of what was left behind as it is now."""

    left_behind: tuple[LeftBehind, ...] = ()
    reads: tuple[Read, ...] = ()
    actions: tuple[WorkAction, ...] = ()
    look_again_at: datetime | None = None


def afterwards(observation: WorkObservation, record: WorkRecord, now: datetime) -> JobCleanup:
    """The next things to do about a child whose end is recorded."""
    if _must_look(observation, record) and record.job is not None:
        return JobCleanup(left_behind=record.left_behind, reads=(ReadWork(job=record.job.name),))
    left = tuple(_looked_at(each, observation, record, now) for each in record.left_behind)
    open_ones = [each for each in left if each.ended_at is None]
    released = _release(observation, gave_up=bool(open_ones), now=now)
    actions: list[WorkAction] = [
        *logs_to_keep(observation, record),
        *_stop_again(observation, open_ones),
        *released.steps,
    ]
    times = [released.look_again_at]
    if open_ones:
        times.append(now + observation.limits.cleanup_interval)
    going = _going(
        observation,
        replace(record, left_behind=left),
        busy=bool(open_ones or actions or released.look_again_at),
        now=now,
    )
    return JobCleanup(
        left_behind=left,
        reads=going.reads,
        actions=(*actions, *(each for each in going.actions if each not in actions)),
        look_again_at=min((each for each in (*times, going.look_again_at) if each), default=None),
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


def _stop_again(observation: WorkObservation, open_ones: list[LeftBehind]) -> list[WorkAction]:
    """A Job that outlived its stop may never have heard of it."""
    job = observation.job
    if open_ones and isinstance(job, JobFacts) and not (job.suspended or job.deleting):
        return [SuspendJob(name=job.name, uid=job.uid)]
    return []


def _must_look(observation: WorkObservation, record: WorkRecord) -> bool:
    """Whether something left behind shows no pod any more: that it is gone is for the API server to say."""
    return not observation.live and any(
        each.ended_at is None and not _pods_of(each, observation) for each in record.left_behind
    )


def _pods_of(left: LeftBehind, observation: WorkObservation) -> list[PodFacts]:
    return [each for each in observation.pods if left.kind != "Pod" or each.uid == left.uid]


def _looked_at(
    left: LeftBehind, observation: WorkObservation, record: WorkRecord, now: datetime
) -> LeftBehind:
    """With its end, if that is certain now."""
    if left.ended_at is not None:
        return left
    pods = _pods_of(left, observation)
    if pods:
        over = all(_has_ended(each, observation) for each in pods)
    else:
        over = observation.live and (left.kind == "Pod" or _nothing_comes(observation, record, now))
    return replace(left, ended_at=now) if over else left


def _nothing_comes(observation: WorkObservation, record: WorkRecord, now: datetime) -> bool:
    """Whether a Job without pods gets none: it is gone, going, over or at rest, and no create of it is on the wire."""
    job = observation.job
    if isinstance(job, JobFacts):
        return job.deleting or job.at_rest or job.complete or job.failed
    seen = record.job is not None and record.job.recorded.was_there
    return seen or record.stop is None or now >= record.stop.requested_at + observation.limits.request_timeout


def _has_ended(pod: PodFacts, observation: WorkObservation) -> bool:
    names = observation.template.containers
    own = [each for each in pod.containers if each.name in names]
    return pod.is_over or (len(own) == len(names) and all(each.terminated for each in own))


def _going(observation: WorkObservation, record: WorkRecord, *, busy: bool, now: datetime) -> JobCleanup:
    """Whether the child itself may go: somebody deletes it, or its time is over."""
    child = observation.child
    if child.deleted_at is not None:
        return _let_go(observation, record, child.deleted_at, busy=busy, now=now)
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
    """A Job goes with its child: until then a late create must still find its name taken (DAG-9)."""
    job, limits = observation.job, observation.limits
    if not isinstance(job, JobFacts) or job.created_at is None:
        return now
    return job.created_at + job_floor(
        lease_duration=limits.lease_duration, request_timeout=limits.request_timeout
    )


def _let_go(
    observation: WorkObservation, record: WorkRecord, deleted_at: datetime, *, busy: bool, now: datetime
) -> JobCleanup:
    """Held while its work stops and is let go and its end stored, within the bound, and then it goes with a warning
    (GC-9).
    """
    if not observation.child.is_held:
        return JobCleanup()
    if record.job is not None and not observation.live:
        return JobCleanup(reads=(ReadWork(job=record.job.name),))
    bound = deleted_at + observation.limits.cancel_timeout
    if (busy or observation.history_pending) and now < bound:
        return JobCleanup(look_again_at=bound)
    left = tuple(each.name for each in record.left_behind if each.ended_at is None)
    return JobCleanup(actions=(*_let_work_go(observation), ReleaseChild(left=left)))


def _let_work_go(observation: WorkObservation) -> list[WorkAction]:
    """Nobody is left to let it go later, and what we hold would stay for ever."""
    job = observation.job
    steps: list[WorkAction] = [step for pod in observation.pods for step in release_pod(pod, gave_up=False)]
    return [*steps, *(release_job(job) if isinstance(job, JobFacts) else ())]
