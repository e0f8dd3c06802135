"""What to do next with a Job that is being stopped: announce, suspend, see the end, record it.

One step at a time, each following from what is recorded, so that a restart in between does the same again. Letting
go of what has ended is `releasing`'s business.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jangar.domain.cancellation.stop import Stop
from jangar.domain.times import whole_second
from jangar.domain.work.facts import JobFacts, PodFacts
from jangar.domain.work.outcome import Outcome, Reading
from jangar.domain.work.presence import ConfirmedAbsent, NotInCache, RecordedJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Write `status.stop` and wait for the acknowledgement; nothing is stopped before."""

    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLive:
    """Ask the API server for the Job by its name: the cache proves nothing."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendJob:
    """Set `spec.suspend`: its pod gets TERM and its grace period, and the Job stays."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePods:
    """Delete these gracefully: their Job is gone or being deleted, and nobody else ends them."""

    uids: tuple[str, ...]
    look_again_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing to do until then, or until something is seen."""

    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Its end is certain: write it to the status."""

    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToStop:
    """There is no Job, and none can come any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """Something that may still run."""

    kind: str
    name: str
    uid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """The deadline has passed: the attempt ends with its reason, and clean-up goes on behind it."""

    left_behind: tuple[Remains, ...]


StopStep = Announce | ReadLive | SuspendJob | DeletePods | Wait | Record | NothingToStop | GiveUp


def next_stop_step(
    wanted: Stop,
    announced: Stop | None,
    *,
    recorded: RecordedJob | None,
    job: JobFacts | NotInCache | ConfirmedAbsent,
    pods: Sequence[PodFacts],
    reading: Reading,
    request_timeout: timedelta,
    now: datetime,
) -> StopStep:
    """The next thing to do. `wanted` becomes the announcement; once there is one, it alone counts."""
    if announced is None:
        return Announce(
            stop=Stop(
                requested_at=whole_second(now),
                reason=wanted.reason,
                deadline=wanted.deadline,
                message=wanted.message,
            )
        )
    if isinstance(reading, Outcome):
        return Record(outcome=reading)
    if recorded is None:
        return NothingToStop()
    alive = tuple(each for each in pods if not each.is_over)
    if (
        isinstance(job, ConfirmedAbsent)
        and not alive
        and _nothing_can_come(recorded, announced, request_timeout, now)
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


def _nothing_can_come(recorded: RecordedJob, stop: Stop, request_timeout: timedelta, now: datetime) -> bool:
    """A create that was acknowledged is not on the wire; one that was not may arrive until it times out."""
    return recorded.was_there or now >= stop.requested_at + request_timeout


def _end_job(job: JobFacts, pods: Sequence[PodFacts], stop: Stop) -> StopStep:
    if job.deleting:
        return _end_pods(pods, stop)
    return Wait(until=stop.deadline) if job.suspended else SuspendJob(name=job.name, uid=job.uid)


def _end_pods(pods: Sequence[PodFacts], stop: Stop) -> StopStep:
    """A Job that is gone or going ends none of them."""
    alive = tuple(each.uid for each in pods if not each.deleting and not each.is_over)
    return DeletePods(uids=alive, look_again_at=stop.deadline) if alive else Wait(until=stop.deadline)


def _remains(
    recorded: RecordedJob, job: JobFacts | NotInCache | ConfirmedAbsent, pods: Sequence[PodFacts]
) -> tuple[Remains, ...]:
    uid = job.uid if isinstance(job, JobFacts) else recorded.uid
    alive = [Remains(kind="Pod", name=each.name, uid=each.uid) for each in pods if not each.is_over]
    return (Remains(kind="Job", name=recorded.name, uid=uid), *alive)
