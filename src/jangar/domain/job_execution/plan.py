"""Decides what to do about a child that runs Jobs: observation and time in, actions and the next status out.

An ordered list of rules over one `PlanContext`; the first rule that applies returns the plan. The status is recorded
first and acted on second. A plan may instead ask for uncached reads: it is then made again with their results, and
nothing is recorded or done before.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from jangar.api.phases import OnJobMissing, Phase
from jangar.api.reasons import Reason
from jangar.domain.cancellation import Requester, decide
from jangar.domain.job_execution.actions import (
    CreateJob,
    EndDuplicate,
    ReadCreateError,
    ReadWork,
    WorkAction,
)
from jangar.domain.job_execution.attempts import (
    continue_after_attempt,
    create_blocker,
    end_attempt,
    has_ended_attempt,
    replace_lost_job,
    start_attempt,
    starting_summary,
)
from jangar.domain.job_execution.cleanup import plan_cleanup
from jangar.domain.job_execution.facts import JobFacts, PodFacts
from jangar.domain.job_execution.observation import (
    Owner,
    WorkDefined,
    WorkHeld,
    WorkMissing,
    WorkObservation,
    WorkRefused,
    WorkRejected,
)
from jangar.domain.job_execution.outcome import (
    NothingCertain,
    Outcome,
    Reading,
    StillRunning,
    duplicate_pods,
    first_pod,
    lasting_cause,
    waiting_cause,
)
from jangar.domain.job_execution.plan_context import PlanContext, WorkPlan, plan_context
from jangar.domain.job_execution.presence import (
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
from jangar.domain.job_execution.record import EndedWork, JobNote
from jangar.domain.job_execution.recording import PhaseSummary
from jangar.domain.job_execution.stopping import required_stop, stop_job
from kubekit.times import whole_millisecond

DELETED_EXTERNALLY: Final = frozenset({Reason.POD_DELETED, Reason.JOB_DELETED})
"""Outcomes of a pod that was deleted before it ended by itself."""


def plan_work(observation: WorkObservation, now: datetime) -> WorkPlan:
    """What to do about a child and its Job now."""
    now = whole_millisecond(now)
    child, recorded, limits = observation.child, observation.recorded, observation.limits
    requested_by = child.requested_by
    if observation.owner in {Owner.STOPPING, Owner.GONE}:
        requested_by |= {Requester.OWNER}
    decision = decide(
        recorded.cancel,
        requested_by,
        phase=recorded.lifecycle.phase,
        enabled=limits.cancel_enabled,
        timeout=limits.cancel_timeout,
        now=now,
        deadline=child.stop_deadline,
    )
    context = plan_context(observation, decision, now)
    for rule in RULES:
        if (plan := rule(context)) is not None:
            return plan
    return context.wait(context.recorded_summary())


def clean_up_finished_child(context: PlanContext) -> WorkPlan | None:
    """A terminal phase is final: what remains is to release the Job and its pods and to clean up."""
    record = context.observation.recorded
    lifecycle = record.lifecycle
    if not lifecycle.is_terminal:
        return None
    cleanup = plan_cleanup(context.observation, record, context.now)
    if cleanup.reads:
        return context.read(*cleanup.reads)
    summary = PhaseSummary(
        phase=lifecycle.phase or Phase.FAILED,
        reason=lifecycle.reason or str(lifecycle.phase),
        message=lifecycle.message or "",
    )
    status = context.status(replace(record, left_behind=cleanup.left_behind), summary)
    return WorkPlan(status=status, actions=cleanup.actions, look_again_at=cleanup.look_again_at)


def cancel_before_start(context: PlanContext) -> WorkPlan | None:
    """No Job was requested, so a cancel takes effect at once."""
    if context.record.job is not None or context.cancel is None:
        return None
    message = "cancelled before it started"
    return context.finish(
        context.record, Outcome(phase=Phase.CANCELLED, reason=Reason.CANCELLED, message=message)
    )


def time_out_before_start(context: PlanContext) -> WorkPlan | None:
    """No Job was requested, so a timeout takes effect at once."""
    if context.record.job is not None or not context.has_timed_out:
        return None
    return context.fail(Reason.STEP_TIMED_OUT, context.timeout_message())


def start_first_attempt(context: PlanContext) -> WorkPlan | None:
    """Start the work once its definition is there and admission allows it; fail if it never will."""
    if context.record.job is not None:
        return None
    match context.observation.work:
        case WorkRejected(reason=reason, message=message):
            return context.fail(reason, message)
        case WorkRefused(message=message):
            return context.fail(Reason.START_REFUSED, message)
        case WorkMissing(message=message):
            return context.wait(PhaseSummary.blocked(Reason.REFERENCE_NOT_FOUND, message))
        case WorkHeld(reason=reason, message=message, by_policy=by_policy):
            return context.wait(
                PhaseSummary(
                    phase=Phase.PENDING,
                    reason=reason,
                    message=message,
                    is_blocked=by_policy,
                    by_policy=by_policy,
                )
            )
        case WorkDefined() if context.child.suspend:
            return context.wait(PhaseSummary(phase=Phase.PENDING, reason=Reason.SUSPENDED))
        case WorkDefined():
            summary = PhaseSummary(phase=Phase.PENDING, reason=Reason.PENDING)
            blocker = create_blocker(context, summary, context.record)
            return blocker or start_attempt(context, context.record, 1)


def follow_ended_attempt(context: PlanContext) -> WorkPlan | None:
    """The noted Job has ended and a retry or a workflow step follows it."""
    note = context.record.job
    if note is None or not has_ended_attempt(context, note):
        return None
    return continue_after_attempt(context, note)


def stop_running_job(context: PlanContext) -> WorkPlan | None:
    """A cancel, a timeout or a deletion of the Job stops the work."""
    note, required = context.record.job, required_stop(context)
    if note is None or required is None:
        return None
    return stop_job(context, note, required, context.job_outcome(note))


def retry_lost_job(context: PlanContext) -> WorkPlan | None:
    """The loss of the noted Job is recorded, and the next attempt has not started."""
    note, attempts = context.record.job, context.record.attempts
    if note is None or not attempts or attempts[-1].attempt != note.attempt:
        return None
    return replace_lost_job(context, context.record, note)


def track_job(context: PlanContext) -> WorkPlan | None:
    """Confirm, create again, give up or follow the noted Job, by whether it exists."""
    note = context.record.job
    if note is None:
        return None
    match presence(
        note.recorded,
        _observed_presence(context),
        outcome_recorded=False,
        policy=context.child.on_job_missing,
    ):
        case ConfirmByLiveRead(name=name):
            return context.read(ReadWork(job=name, since=None if note.recorded.was_there else note.since))
        case CreateAgain(name=name):
            return _create_again(context, name, note.attempt)
        case Lost(then=then):
            return _handle_loss(context, note, then)
        case Present(uid=uid):
            return _follow_job(context, note, uid)
        case _:
            return None


Rule = Callable[[PlanContext], WorkPlan | None]
RULES: Final[tuple[Rule, ...]] = (
    clean_up_finished_child,
    cancel_before_start,
    time_out_before_start,
    start_first_attempt,
    follow_ended_attempt,
    stop_running_job,
    retry_lost_job,
    track_job,
)
"""In order of precedence; the first rule that returns a plan decides."""


def _observed_presence(context: PlanContext) -> JobPresence:
    match context.observation.job:
        case JobFacts(uid=uid):
            return Seen(uid=uid, live=context.observation.live)
        case NotInCache() | ConfirmedAbsent() as absent:
            return absent


def _create_again(context: PlanContext, name: str, attempt: int) -> WorkPlan:
    work = context.observation.work
    if isinstance(work, WorkRefused):
        return context.fail(Reason.START_REFUSED, work.message)
    summary = starting_summary(context.record)
    if (blocker := create_blocker(context, summary, context.record)) is not None:
        return blocker
    return replace(context.wait(summary), actions=(CreateJob(name=name, attempt=attempt),))


def _handle_loss(context: PlanContext, note: JobNote, then: OnJobMissing) -> WorkPlan:
    """The Job existed and is gone without an outcome (GC-2), unless its pod, held by our finalizer, has one."""
    record, reading = context.record, context.job_outcome(note)
    if isinstance(reading, Outcome) and reading.reason not in DELETED_EXTERNALLY:
        job = context.observed_note(note, note.uid, reading.pod_uid)
        return end_attempt(context, replace(record, job=job), reading)
    outcome = Outcome(
        phase=Phase.FAILED,
        reason=Reason.WORKFLOW_JOB_MISSING,
        message=f"Job {note.name} no longer exists and its outcome is unknown",
    )
    if then is not OnJobMissing.RETRY:
        return context.finish(record, outcome, job_missing=True)
    ended = EndedWork(attempt=note.attempt, job=note.name, uid=note.uid, outcome=outcome)
    return replace_lost_job(context, replace(record, attempts=(*record.attempts, ended)), note)


def _follow_job(context: PlanContext, note: JobNote, uid: str) -> WorkPlan:
    reading: Reading = context.job_outcome(note)
    match reading:
        case Outcome():
            job = context.observed_note(note, uid, reading.pod_uid)
            return end_attempt(context, replace(context.record, job=job), reading)
        case NothingCertain(read_live=True):
            return context.read(ReadWork(job=note.name))
        case StillRunning(pod_uid=pod_uid, started=True):
            job = context.observed_note(note, uid, pod_uid)
            summary = PhaseSummary(phase=Phase.RUNNING, reason=Reason.RUNNING)
            plan = context.wait(summary, replace(context.record, job=job))
            return replace(plan, actions=_end_duplicates(context, job))
        case _:
            return _await_pod(context, note, uid)


def _await_pod(context: PlanContext, note: JobNote, uid: str) -> WorkPlan:
    """The pod does not run yet. That the Job was seen is recorded with the next change, or after `note_after`."""
    job, now, limits = context.job, context.now, context.limits
    pod = first_pod(context.observation.pods, recorded_uid=note.pod_uid)
    if pod is None and job is not None and _needs_create_error(context, job):
        return context.read(ReadCreateError(job=job.name, uid=job.uid))
    due = (job.created_at if job is not None and job.created_at else now) + limits.note_after
    summary = _waiting_summary(context, pod)
    if note.uid is None and (now >= due or summary != context.recorded_summary()):
        note = context.observed_note(note, uid, None)
    plan = context.wait(summary, replace(context.record, job=note))
    times = [plan.look_again_at, due if note.uid is None else None, _next_create_error_read(context, pod)]
    return replace(
        plan,
        actions=_end_duplicates(context, note),
        look_again_at=min((time for time in times if time is not None), default=None),
    )


def _needs_create_error(context: PlanContext, job: JobFacts) -> bool:
    """Whether the pod is overdue and the Job's events have not been read for the reason."""
    is_overdue = job.created_at is not None and context.now >= job.created_at + context.limits.create_patience
    is_idle = not (job.active or job.suspended or job.deleting or job.complete or job.failed)
    return context.observation.create_error is None and is_overdue and is_idle


def _next_create_error_read(context: PlanContext, pod: PodFacts | None) -> datetime | None:
    """When to read why a Job has no pod; a pod that exists causes an event by itself."""
    job = context.job
    if pod is not None or job is None or job.created_at is None:
        return None
    if context.observation.create_error is not None:
        return context.now + context.limits.create_interval
    due = job.created_at + context.limits.create_patience
    return due if context.now < due else None


def _waiting_summary(context: PlanContext, pod: PodFacts | None) -> PhaseSummary:
    """The recorded summary, with the cause that keeps the container from starting."""
    recorded = context.recorded_summary()
    cause = waiting_cause(context.observation.template, pod, create_error=context.observation.create_error)
    if cause is None:
        is_resolved = pod is not None and recorded.reason in {Reason.UNSCHEDULABLE, Reason.FAILED_CREATE}
        return starting_summary(context.record) if is_resolved else recorded
    cause = lasting_cause(
        cause,
        reason=recorded.reason,
        message=recorded.message,
        recorded_at=context.record.lifecycle.updated_at,
        now=context.now,
    )
    return replace(recorded, reason=cause.reason, message=cause.message, is_blocked=True)


def _end_duplicates(context: PlanContext, note: JobNote) -> tuple[WorkAction, ...]:
    duplicates = duplicate_pods(context.observation.pods, recorded_uid=note.pod_uid)
    return tuple(EndDuplicate(name=pod.name, uid=pod.uid) for pod in duplicates if not pod.deleting)
