"""The next step of stopping a Job: announce the stop, suspend the Job, observe its end, record it.

Each step follows from the record, so a restart repeats it. `releasing` removes the finalizers afterward.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jangar.domain.cancellation.stop import Stop
from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.job_execution.outcome import Outcome, Reading
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache, RecordedJob
from jangar.domain.times import whole_second


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Write `status.stop` and wait for the acknowledgement; nothing is stopped before."""

    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLive:
    """Read the Job from the API server: a miss in the cache proves nothing."""

    name: str


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
class Wait:
    """Nothing to do until then, or until something is seen."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Its end is certain: record it in the status."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToStop:
    """There is no Job, and none can appear anymore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """Something that may still run."""

    kind: str
    name: str
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The deadline has passed: the attempt ends with the stop's reason, and cleanup continues in the background."""

    left_behind: tuple[Remains, ...]


StopStep = Announce | ReadLive | SuspendJob | DeletePods | Wait | Record | NothingToStop | GiveUp


def next_stop_step(
    required: Stop,
    announced: Stop | None,
    *,
    recorded: RecordedJob | None,
    job: JobFacts | NotInCache | ConfirmedAbsent,
    pods: Sequence[PodFacts],
    reading: Reading,
    request_timeout: timedelta,
    now: datetime,
) -> StopStep:
    """The next step. `required` becomes the announcement; once announced, only that counts."""
    if announced is None:
        return Announce(
            stop=Stop(
                requested_at=whole_second(now),
                reason=required.reason,
                deadline=required.deadline,
                message=required.message,
            )
        )
    if isinstance(reading, Outcome):
        return Record(outcome=reading)
    if recorded is None:
        return NothingToStop()
    alive = tuple(pod for pod in pods if not pod.is_over)
    if (
        isinstance(job, ConfirmedAbsent)
        and not alive
        and _no_job_can_appear(recorded, announced, request_timeout, now)
    ):
        return NothingToStop()
    if now >= announced.deadline:
        return GiveUp(left_behind=_remains(recorded, job, pods))
    match job:
        case NotInCache():
            return ReadLive(name=recorded.name)
        case ConfirmedAbsent() if alive:
            return _end_pods(alive, announced)
        case ConfirmedAbsent():
            return Wait(until=min(announced.requested_at + request_timeout, announced.deadline))
        case JobFacts():
            return _end_job(job, pods, announced)


def _no_job_can_appear(recorded: RecordedJob, stop: Stop, request_timeout: timedelta, now: datetime) -> bool:
    """A create that was not acknowledged may arrive until its request times out."""
    return recorded.was_there or now >= stop.requested_at + request_timeout


def _end_job(job: JobFacts, pods: Sequence[PodFacts], stop: Stop) -> StopStep:
    if job.deleting:
        return _end_pods(pods, stop)
    return Wait(until=stop.deadline) if job.suspended else SuspendJob(name=job.name, uid=job.uid)


def _end_pods(pods: Sequence[PodFacts], stop: Stop) -> StopStep:
    """A Job that is gone or being deleted stops none of them."""
    alive = tuple(pod.uid for pod in pods if not pod.deleting and not pod.is_over)
    return DeletePods(uids=alive, look_again_at=stop.deadline) if alive else Wait(until=stop.deadline)


def _remains(
    recorded: RecordedJob, job: JobFacts | NotInCache | ConfirmedAbsent, pods: Sequence[PodFacts]
) -> tuple[Remains, ...]:
    uid = job.uid if isinstance(job, JobFacts) else recorded.uid
    alive = [Remains(kind="Pod", name=pod.name, uid=pod.uid) for pod in pods if not pod.is_over]
    return (Remains(kind="Job", name=recorded.name, uid=uid), *alive)
