"""The only decision maker for a child that runs a Job: what is observed and the time in, actions and the next status
out. Serves every kind whose work is one Job at a time, one or several of them.

As with runs, the status is recorded first and acted on second. A plan may instead ask for uncached reads; it is then
made again with what they found, and nothing is recorded or done before.
"""

from dataclasses import replace
from datetime import datetime

from jangar.api.phases import OnJobMissing, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation.machine import decide
from jangar.domain.cancellation.request import Requester
from jangar.domain.cancellation.stop import LeftBehind, Stop
from jangar.domain.times import whole_millisecond
from jangar.domain.work.actions import (
    CreateJob,
    EndDuplicate,
    ReadCreateError,
    ReadWork,
    WorkAction,
)
from jangar.domain.work.attempts import Attempts, starting
from jangar.domain.work.causes import lasting_cause, waiting_cause
from jangar.domain.work.facts import JobFacts, PodFacts
from jangar.domain.work.job_cleanup import afterwards
from jangar.domain.work.observation import (
    Owner,
    WorkDefined,
    WorkHeld,
    WorkMissing,
    WorkObservation,
    WorkRefused,
    WorkRejected,
)
from jangar.domain.work.outcome import (
    NothingCertain,
    Outcome,
    Reading,
    StillRunning,
    duplicate_pods,
    first_pod,
    stopped_outcome,
)
from jangar.domain.work.plan_parts import WorkPlan
from jangar.domain.work.presence import (
    ConfirmByLiveRead,
    ConfirmedAbsent,
    CreateAgain,
    JobPresence,
    Lost,
    NotInCache,
    Present,
    Seen,
    presence,
)
from jangar.domain.work.record import EndedWork, JobNote, WorkRecord
from jangar.domain.work.recording import PhaseSummary
from jangar.domain.work.stopping import (
    Announce,
    DeletePods,
    GiveUp,
    NothingToStop,
    ReadLive,
    Record,
    StopStep,
    SuspendJob,
    Wait,
    next_stop_step,
)

TAKEN_AWAY = frozenset({Reason.POD_DELETED, Reason.JOB_DELETED})
"""Ends that a pod did not come to by itself."""


def plan_work(observation: WorkObservation, now: datetime) -> WorkPlan:
    """What to do about a child and its Job now."""
    now = whole_millisecond(now)
    child, recorded, limits = observation.child, observation.recorded, observation.limits
    asking = child.requested_by
    if observation.owner in {Owner.STOPPING, Owner.GONE}:
        asking |= {Requester.OWNER}
    decision = decide(
        recorded.cancel,
        asking,
        phase=recorded.lifecycle.phase,
        enabled=limits.cancel_enabled,
        timeout=limits.cancel_timeout,
        now=now,
        deadline=child.stop_deadline,
    )
    planner = _Planner(observation, decision, now)
    if recorded.lifecycle.is_terminal:
        return planner.finished(recorded)
    return planner.not_started() if recorded.job is None else planner.started(recorded.job)


class _Planner(Attempts):
    """Plans one child; each method gives a whole plan."""

    def finished(self, record: WorkRecord) -> WorkPlan:
        """A terminal phase is final: what is left is to let the work go and to clean up."""
        after = afterwards(self.observation, record, self.now)
        if after.reads:
            return self._reading(*after.reads)
        lifecycle = record.lifecycle
        standing = PhaseSummary(
            phase=lifecycle.phase or Phase.FAILED,
            reason=lifecycle.reason or str(lifecycle.phase),
            message=lifecycle.message or "",
        )
        status = self._status(replace(record, left_behind=after.left_behind), standing)
        return WorkPlan(status=status, actions=after.actions, look_again_at=after.look_again_at)

    def not_started(self) -> WorkPlan:
        """No Job was ever asked for, so every end is at once."""
        if self.cancel is not None:
            return self._ended(
                self.record, _outcome(Phase.CANCELLED, Reason.CANCELLED, "cancelled before it started")
            )
        if self._timed_out:
            return self._ended(
                self.record, _outcome(Phase.FAILED, Reason.STEP_TIMED_OUT, self._timeout_message())
            )
        match self.observation.work:
            case WorkRejected(reason=reason, message=message):
                return self._ended(self.record, _outcome(Phase.FAILED, reason, message))
            case WorkRefused(message=message):
                return self._ended(self.record, _outcome(Phase.FAILED, Reason.START_REFUSED, message))
            case WorkMissing(message=message):
                return self._waiting(PhaseSummary.blocked(Reason.REFERENCE_NOT_FOUND, message))
            case WorkHeld(reason=reason, message=message, by_policy=by_policy):
                return self._waiting(
                    PhaseSummary(
                        phase=Phase.PENDING,
                        reason=reason,
                        message=message,
                        is_blocked=by_policy,
                        by_policy=by_policy,
                    )
                )
            case WorkDefined():
                return self._begin()

    def _begin(self) -> WorkPlan:
        if self.child.suspend:
            return self._waiting(PhaseSummary(phase=Phase.PENDING, reason=Reason.SUSPENDED))
        return self._held_back(
            PhaseSummary(phase=Phase.PENDING, reason=Reason.PENDING), self.record
        ) or self._attempt(self.record, 1)

    def started(self, note: JobNote) -> WorkPlan:
        """A Job was asked for: find it, read how it does, stop it where that is wanted."""
        if self._waits_for_the_next(note):
            return self._follow(note)
        reading = self._read(note)
        wanted = self._wanted_stop()
        if wanted is not None:
            return self._stopping(note, wanted, reading)
        if self.record.attempts and self.record.attempts[-1].attempt == note.attempt:
            return self._next_attempt(self.record, note)
        found = presence(
            note.recorded,
            self._sight(),
            outcome_recorded=False,
            policy=self.child.on_job_missing,
        )
        match found:
            case ConfirmByLiveRead(name=name):
                return self._reading(
                    ReadWork(job=name, since=None if note.recorded.was_there else note.since)
                )
            case CreateAgain(name=name):
                return self._create_again(name, note.attempt)
            case Lost(then=then):
                return self._lost(note, then, reading)
            case Present(uid=uid):
                return self._present(note, uid, reading)
            case _:
                return self._waiting(self._as_recorded())

    def _create_again(self, name: str, attempt: int) -> WorkPlan:
        if isinstance(self.observation.work, WorkRefused):
            return self._ended(
                self.record, _outcome(Phase.FAILED, Reason.START_REFUSED, self.observation.work.message)
            )
        standing = starting(self.record)
        if (held_back := self._held_back(standing, self.record)) is not None:
            return held_back
        return replace(self._waiting(standing), actions=(CreateJob(name=name, attempt=attempt),))

    def _lost(self, note: JobNote, then: OnJobMissing, reading: Reading) -> WorkPlan:
        """Seen once, gone without an outcome (GC-2); unless its pod, which we hold, came to its own end."""
        if isinstance(reading, Outcome) and reading.reason not in TAKEN_AWAY:
            return self._over(replace(self.record, job=self._noted(note, note.uid, reading.pod_uid)), reading)
        message = f"Job {note.name} is gone and left no outcome"
        outcome = _outcome(Phase.FAILED, Reason.WORKFLOW_JOB_MISSING, message)
        if then is not OnJobMissing.RETRY:
            return self._ended(self.record, outcome, job_missing=True)
        ended = EndedWork(attempt=note.attempt, job=note.name, uid=note.uid, outcome=outcome)
        return self._next_attempt(replace(self.record, attempts=(*self.record.attempts, ended)), note)

    def _present(self, note: JobNote, uid: str, reading: Reading) -> WorkPlan:
        match reading:
            case Outcome():
                return self._over(replace(self.record, job=self._noted(note, uid, reading.pod_uid)), reading)
            case NothingCertain(read_live=True):
                return self._reading(ReadWork(job=note.name))
            case StillRunning(pod_uid=pod_uid, started=True):
                job = self._noted(note, uid, pod_uid)
                plan = self._waiting(
                    PhaseSummary(phase=Phase.RUNNING, reason=Reason.RUNNING), replace(self.record, job=job)
                )
                return replace(plan, actions=self._duplicates(job))
            case _:
                return self._unstarted(note, uid)

    def _unstarted(self, note: JobNote, uid: str) -> WorkPlan:
        """The Job is there and its pod does not run yet; that it was seen is recorded with the next change, or soon."""
        job = self.observation.job
        pod = first_pod(self.observation.pods, recorded_uid=note.pod_uid)
        if pod is None and isinstance(job, JobFacts) and self._lacks_pod(job):
            return self._reading(ReadCreateError(job=job.name, uid=job.uid))
        seen_since = job.created_at if isinstance(job, JobFacts) and job.created_at else self.now
        due = seen_since + self.limits.note_after
        standing = self._standing_of(pod)
        if note.uid is None and (self.now >= due or standing != self._as_recorded()):
            note = self._noted(note, uid, None)
        plan = self._waiting(standing, replace(self.record, job=note))
        times = [plan.look_again_at, due if note.uid is None else None, self._look_for_pod_at(job, pod)]
        return replace(
            plan,
            actions=self._duplicates(note),
            look_again_at=min((each for each in times if each is not None), default=None),
        )

    def _lacks_pod(self, job: JobFacts) -> bool:
        """Whether its pod should be there by now, and nobody has asked yet why it is not."""
        overdue = job.created_at is not None and self.now >= job.created_at + self.limits.create_patience
        is_idle = not (job.active or job.suspended or job.deleting or job.complete or job.failed)
        return self.observation.create_error is None and overdue and is_idle

    def _look_for_pod_at(self, job: object, pod: PodFacts | None) -> datetime | None:
        """When to ask why a Job has no pod; a Job that has one by its own account needs no look, an event comes."""
        if pod is not None or not isinstance(job, JobFacts) or job.created_at is None:
            return None
        if self.observation.create_error is not None:
            return self.now + self.limits.create_interval
        due = job.created_at + self.limits.create_patience
        return due if self.now < due else None

    def _standing_of(self, pod: PodFacts | None) -> PhaseSummary:
        """As recorded, with the cause that keeps the container from starting."""
        recorded, lifecycle = self._as_recorded(), self.record.lifecycle
        cause = waiting_cause(self.observation.template, pod, create_error=self.observation.create_error)
        if cause is None:
            passed = pod is not None and recorded.reason in {Reason.UNSCHEDULABLE, Reason.FAILED_CREATE}
            return starting(self.record) if passed else recorded
        cause = lasting_cause(
            cause,
            reason=recorded.reason,
            message=recorded.message,
            recorded_at=lifecycle.updated_at,
            now=self.now,
        )
        return replace(recorded, reason=cause.reason, message=cause.message, is_blocked=True)

    def _stopping(self, note: JobNote, wanted: Stop, reading: Reading) -> WorkPlan:
        """Announce, then act on the announcement: both in one pass, because the record is written in between.

        What was seen to have ended before the announcement was not stopped, whatever the clocks say.
        """
        stop = self.record.stop and self._bounded(self.record.stop)
        step = self._stop_step(note, wanted, stop, reading)
        if isinstance(step, Announce) and isinstance(reading, Outcome):
            return self._over(replace(self.record, job=self._noted_while_stopping(note, reading)), reading)
        if isinstance(step, Announce):
            stop = step.stop
            reading = self._read(note, stop)
            step = self._stop_step(note, wanted, stop, reading)
        stop = stop or wanted
        record = replace(self.record, stop=stop, job=self._noted_while_stopping(note, reading))
        match step:
            case Record(outcome=outcome):
                return self._over(record, outcome)
            case NothingToStop():
                return self._ended(record, stopped_outcome(stop))
            case GiveUp() if not self.observation.live:
                return self._reading(ReadWork(job=note.name))
            case GiveUp(left_behind=remains):
                left = tuple(LeftBehind(kind=each.kind, name=each.name, uid=each.uid) for each in remains)
                return self._ended(replace(record, left_behind=left), stopped_outcome(stop, in_time=False))
            case ReadLive(name=name):
                return self._reading(ReadWork(job=name))
            case SuspendJob() | DeletePods():
                return replace(self._told(record, stop), actions=(step,))
            case _ if isinstance(reading, NothingCertain) and reading.read_live:
                return self._reading(ReadWork(job=note.name))
            case _:
                return self._told(record, stop, until=step.until if isinstance(step, Wait) else None)

    def _bounded(self, stop: Stop) -> Stop:
        """A cancel may bring the deadline nearer."""
        return replace(stop, deadline=min(stop.deadline, self.cancel.deadline)) if self.cancel else stop

    def _stop_step(self, note: JobNote, wanted: Stop, announced: Stop | None, reading: Reading) -> StopStep:
        return next_stop_step(
            wanted,
            announced,
            recorded=note.recorded,
            job=self.observation.job,
            pods=self.observation.pods,
            reading=reading,
            request_timeout=self.limits.request_timeout,
            now=self.now,
        )

    def _noted_while_stopping(self, note: JobNote, reading: Reading) -> JobNote:
        job = self.observation.job
        if not isinstance(job, JobFacts):
            return note
        started = isinstance(reading, StillRunning) and reading.started
        pod_uid = reading.pod_uid if not isinstance(reading, NothingCertain) else None
        return self._noted(note, job.uid, pod_uid if started or isinstance(reading, Outcome) else None)

    def _told(self, record: WorkRecord, stop: Stop, *, until: datetime | None = None) -> WorkPlan:
        """Its work was told to end and has not yet."""
        if self.cancel is not None:
            standing = PhaseSummary(phase=Phase.CANCELLING, reason=Reason.CANCELLING)
        else:
            phase = self.record.lifecycle.phase or Phase.PENDING
            message = f"stopping: {stop.message or stop.reason}"
            standing = PhaseSummary(phase=phase, reason=Reason.STOPPING, message=message)
        return WorkPlan(
            status=self._status(record, standing), look_again_at=min(until or stop.deadline, stop.deadline)
        )

    def _wanted_stop(self) -> Stop | None:
        """Why the work should end now; an announcement that was made stays in force."""
        if self.record.stop is not None:
            return self.record.stop
        if self.cancel is not None:
            return Stop(requested_at=self.now, reason=Reason.CANCELLED, deadline=self.cancel.deadline)
        latest = self.now + self.limits.cancel_timeout
        if self._timed_out:
            return Stop(
                requested_at=self.now,
                reason=Reason.STEP_TIMED_OUT,
                deadline=latest,
                message=self._timeout_message(),
            )
        job = self.observation.job
        if isinstance(job, JobFacts) and job.deleting:
            return Stop(requested_at=self.now, reason=Reason.JOB_DELETED, deadline=latest)
        return None

    def _sight(self) -> JobPresence:
        match self.observation.job:
            case JobFacts(uid=uid):
                return Seen(uid=uid, live=self.observation.live)
            case NotInCache() | ConfirmedAbsent() as absent:
                return absent

    def _duplicates(self, note: JobNote) -> tuple[WorkAction, ...]:
        others = duplicate_pods(self.observation.pods, recorded_uid=note.pod_uid)
        return tuple(EndDuplicate(name=each.name, uid=each.uid) for each in others if not each.deleting)


def _outcome(phase: Phase, reason: str, message: str) -> Outcome:
    return Outcome(phase=phase, reason=reason, message=message)
