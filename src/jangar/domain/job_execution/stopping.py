"""Stops a child's Job: announces the stop, suspends the Job, observes its end and records it.

Each step follows from the record, so a restart repeats it. `cleanup` removes the finalizers afterward.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import LeftBehind, Stop
from jangar.domain.job_execution.actions import DeletePods, ReadWork, SuspendJob
from jangar.domain.job_execution.attempts import end_attempt
from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.job_execution.outcome import (
    NothingCertain,
    Outcome,
    Reading,
    StillRunning,
    stopped_outcome,
)
from jangar.domain.job_execution.plan_context import PlanContext, WorkPlan
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache, RecordedJob
from jangar.domain.job_execution.record import JobNote, WorkRecord
from jangar.domain.job_execution.recording import PhaseSummary
from kubekit.times import whole_second


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Write `status.stop` and wait for the acknowledgement; nothing is stopped before."""

    stop: Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLive:
    """Read the Job from the API server: a miss in the cache proves nothing."""

    name: str


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


def required_stop(context: PlanContext) -> Stop | None:
    """Why the Job must stop now; a stop that was announced stays in force."""
    if context.record.stop is not None:
        return context.record.stop
    now, cancel = context.now, context.cancel
    if cancel is not None:
        return Stop(requested_at=now, reason=Reason.CANCELLED, deadline=cancel.deadline)
    deadline = now + context.limits.cancel_timeout
    if context.has_timed_out:
        return Stop(
            requested_at=now,
            reason=Reason.STEP_TIMED_OUT,
            deadline=deadline,
            message=context.timeout_message(),
        )
    if context.job is not None and context.job.deleting:
        return Stop(requested_at=now, reason=Reason.JOB_DELETED, deadline=deadline)
    return None


def stop_job(context: PlanContext, note: JobNote, required: Stop, reading: Reading) -> WorkPlan:
    """Announce the stop and do its first step in one pass: the record is written before the actions.

    A Job that had ended before the announcement was not stopped, whatever the clocks say.
    """
    stop = context.record.stop and _with_cancel_deadline(context, context.record.stop)
    step = _next_step(context, note, required, stop, reading)
    if isinstance(step, Announce) and isinstance(reading, Outcome):
        return end_attempt(
            context, replace(context.record, job=_observed_note(context, note, reading)), reading
        )
    if isinstance(step, Announce):
        stop = step.stop
        reading = context.job_outcome(note, stop)
        step = _next_step(context, note, required, stop, reading)
    stop = stop or required
    record = replace(context.record, stop=stop, job=_observed_note(context, note, reading))
    match step:
        case Record(outcome=outcome):
            return end_attempt(context, record, outcome)
        case NothingToStop():
            return context.finish(record, stopped_outcome(stop))
        case GiveUp() if not context.observation.live:
            return context.read(ReadWork(job=note.name))
        case GiveUp(left_behind=remains):
            left = tuple(LeftBehind(kind=remain.kind, name=remain.name, uid=remain.uid) for remain in remains)
            return context.finish(replace(record, left_behind=left), stopped_outcome(stop, in_time=False))
        case ReadLive(name=name):
            return context.read(ReadWork(job=name))
        case SuspendJob() | DeletePods():
            return replace(_await_stop(context, record, stop), actions=(step,))
        case _ if isinstance(reading, NothingCertain) and reading.read_live:
            return context.read(ReadWork(job=note.name))
        case _:
            return _await_stop(context, record, stop, until=step.until if isinstance(step, Wait) else None)


def _with_cancel_deadline(context: PlanContext, stop: Stop) -> Stop:
    """A cancel may bring the deadline forward."""
    cancel = context.cancel
    return replace(stop, deadline=min(stop.deadline, cancel.deadline)) if cancel else stop


def _next_step(
    context: PlanContext, note: JobNote, required: Stop, announced: Stop | None, reading: Reading
) -> StopStep:
    return next_stop_step(
        required,
        announced,
        recorded=note.recorded,
        job=context.observation.job,
        pods=context.observation.pods,
        reading=reading,
        request_timeout=context.limits.request_timeout,
        now=context.now,
    )


def _observed_note(context: PlanContext, note: JobNote, reading: Reading) -> JobNote:
    if context.job is None:
        return note
    has_started = isinstance(reading, Outcome) or (isinstance(reading, StillRunning) and reading.started)
    pod_uid = reading.pod_uid if has_started and not isinstance(reading, NothingCertain) else None
    return context.observed_note(note, context.job.uid, pod_uid)


def _await_stop(
    context: PlanContext, record: WorkRecord, stop: Stop, *, until: datetime | None = None
) -> WorkPlan:
    """The stop is announced and the work has not ended yet."""
    if context.cancel is not None:
        summary = PhaseSummary(phase=Phase.CANCELLING, reason=Reason.CANCELLING)
    else:
        summary = PhaseSummary(
            phase=context.record.lifecycle.phase or Phase.PENDING,
            reason=Reason.STOPPING,
            message=f"stopping: {stop.message or stop.reason}",
        )
    return WorkPlan(
        status=context.status(record, summary), look_again_at=min(until or stop.deadline, stop.deadline)
    )
