"""How an attempt starts, and what follows one that ended: a retry, the next iteration or the next step (DAG-9).

Each planning function returns a complete plan, or None if it does not apply.
"""

from dataclasses import replace
from datetime import timedelta
from typing import assert_never

from jangar.api.phases import Phase
from jangar.api.reasons import NEVER_RETRIED, Reason
from jangar.domain.job_execution.actions import AddChildFinalizer, CreateJob, ReadOwner, ReadWork
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER, logs_to_keep, release, release_pod
from jangar.domain.job_execution.observation import Owner, WorkMissing, WorkRejected
from jangar.domain.job_execution.outcome import Outcome
from jangar.domain.job_execution.plan_context import PlanContext, WorkPlan, was_job_lost
from jangar.domain.job_execution.record import EndedWork, JobNote, WorkRecord
from jangar.domain.job_execution.recording import PhaseSummary, job_ttl
from jangar.domain.job_execution.workflow import (
    CONTROL,
    Continue,
    End,
    Loop,
    LoopDone,
    LoopFailed,
    after_iteration,
    finish_step,
    schedule_retry,
    start_next_iteration,
)
from jangar.domain.orchestration.child_names import job_name
from jangar.domain.retention import job_floor

NOT_CONFIRMED = (
    "the owning run did not create this object: its status records a different child for this step and attempt, or "
    "the spec differs from what the step generates; to start your own run, create it without ownerReferences"
)


def create_blocker(context: PlanContext, summary: PhaseSummary, record: WorkRecord) -> WorkPlan | None:
    """What must happen before any Job is created; None if the child may create one now."""
    match context.observation.work:
        case WorkMissing(message=message):
            return _blocked(context, PhaseSummary.blocked(Reason.REFERENCE_NOT_FOUND, message), record)
        case WorkRejected(reason=reason, message=message):
            return _blocked(context, PhaseSummary.blocked(reason, message), record)
    if context.child.suspend:
        return context.wait(summary, record)
    if not context.child.has_finalizer:
        return replace(context.wait(summary, record), actions=(AddChildFinalizer(),))
    match context.observation.owner:
        case Owner.NOT_READ:
            return context.read(ReadOwner())
        case Owner.NOT_RECORDED_YET:
            message = "waiting for the owning run to record this attempt in its status"
            return _blocked(context, PhaseSummary.blocked(Reason.OWNER_NOT_CONFIRMED, message), record)
        case Owner.NOT_CONFIRMED:
            outcome = Outcome(phase=Phase.FAILED, reason=Reason.OWNER_NOT_CONFIRMED, message=NOT_CONFIRMED)
            return context.finish(record, outcome)
    return None


def _blocked(context: PlanContext, summary: PhaseSummary, record: WorkRecord) -> WorkPlan:
    """Requeued: a child that has recorded an attempt gets no events of the objects it references."""
    plan = context.wait(summary, record)
    soon = context.now + context.limits.cleanup_interval
    return replace(plan, look_again_at=min(soon, plan.look_again_at or soon))


def start_attempt(context: PlanContext, record: WorkRecord, number: int) -> WorkPlan:
    """Record the attempt, then create its Job (GC-2)."""
    child, stage = context.child, record.stage
    step, iteration = (stage.name, stage.iteration) if stage else (None, None)
    name = job_name(child.name, child.uid, number, step=step, iteration=iteration)
    note = JobNote(
        name=name,
        attempt=number,
        step=step,
        iteration=iteration,
        attempt_limits=child.attempt_limits,
        intended_at=context.now if stage or (child.retries and number > 1) else None,
        since=context.observation.job_version,
    )
    record = replace(record, job=note)
    plan = context.wait(starting_summary(record), record)
    return replace(plan, actions=(CreateJob(name=name, attempt=number),))


def replace_lost_job(context: PlanContext, record: WorkRecord, note: JobNote) -> WorkPlan:
    """Start the next attempt once the pods of the lost Job have ended and are released (DAG-9)."""
    if not context.observation.live:
        return context.read(ReadWork(job=note.name))
    summary = PhaseSummary(
        phase=_phase(record),
        reason=Reason.WORKFLOW_JOB_MISSING,
        message=record.attempts[-1].outcome.message,
        job_missing=True,
    )
    pods = context.observation.pods
    if not all(pod.is_over and OUTCOME_FINALIZER not in pod.finalizers for pod in pods):
        steps = tuple(step for pod in pods for step in release_pod(pod, gave_up=True))
        logs = logs_to_keep(context.observation, record) if all(pod.is_over for pod in pods) else ()
        return replace(context.wait(summary, record), actions=(*logs, *steps))
    return create_blocker(context, summary, record) or start_attempt(context, record, note.attempt + 1)


def has_ended_attempt(context: PlanContext, note: JobNote) -> bool:
    """Whether the noted Job has ended and another one follows; a lost Job is handled by `replace_lost_job`."""
    if is_job_of_earlier_step(context, note):
        return True
    ended = context.record.attempts[-1] if context.record.attempts else None
    return (
        ended is not None
        and ended.attempt == note.attempt
        and ended.outcome.reason != Reason.WORKFLOW_JOB_MISSING
    )


def end_attempt(context: PlanContext, record: WorkRecord, outcome: Outcome) -> WorkPlan:
    """Retry an attempt that failed; else continue with the next workflow step, or finish the child (DAG-9)."""
    note = record.job
    retries_left = context.child.retries - len(record.attempts)
    may_retry = (
        outcome.phase is Phase.FAILED and outcome.reason not in NEVER_RETRIED and context.cancel is None
    )
    if note is None or retries_left <= 0 or not may_retry:
        return advance_workflow(context, record, outcome) or context.finish(record, outcome)
    ended = EndedWork(
        attempt=note.attempt,
        job=note.name,
        uid=note.uid,
        outcome=replace(outcome, result=None, pod_uid=None),
    )
    backoff = timedelta(seconds=(note.attempt_limits and note.attempt_limits.backoff_seconds) or 0)
    record = replace(
        record,
        attempts=(*record.attempts, ended),
        stop=None,
        stages=schedule_retry(record, backoff, context.now),
    )
    return WorkPlan(status=context.status(record, retry_summary(record)), look_again_at=context.now)


def continue_after_attempt(context: PlanContext, note: JobNote) -> WorkPlan:
    """Release the Job and pods of the ended attempt, then start the next attempt or workflow step."""
    # The recorded time limit was that of the ended Job.
    context = replace(context, expires_at=None)
    observation, record, limits = context.observation, context.record, context.limits
    if context.cancel is not None:
        message = "cancelled before the next attempt"
        return context.finish(
            record, Outcome(phase=Phase.CANCELLED, reason=Reason.CANCELLED, message=message)
        )
    if not observation.live:
        return context.read(ReadWork(job=note.name))
    is_next_step = is_job_of_earlier_step(context, note)
    summary = next_step_summary(record) if is_next_step else retry_summary(record)
    released = release(
        context.job,
        observation.pods,
        acknowledged=True,
        lifetime=job_ttl(observation).keep,
        floor=job_floor(lease_duration=limits.lease_duration, request_timeout=limits.request_timeout),
        now=context.now,
    )
    # Later passes look only at the next Job, so this one is completely released first.
    actions = (*logs_to_keep(observation, record), *released.steps)
    if actions or released.look_again_at or not all(pod.is_over for pod in observation.pods):
        return WorkPlan(
            status=context.status(record, summary),
            actions=actions,
            look_again_at=released.look_again_at or context.now + limits.note_after,
        )
    work = observation.work
    if is_next_step and isinstance(work, WorkRejected):
        return context.fail(work.reason, work.message)
    stage = record.stage
    if stage is not None and stage.next_retry_at is not None and context.now < stage.next_retry_at:
        return replace(context.wait(summary), look_again_at=stage.next_retry_at)
    number = 1 if is_next_step else note.attempt + 1
    return create_blocker(context, summary, record) or start_attempt(context, record, number)


def starting_summary(record: WorkRecord) -> PhaseSummary:
    """An attempt is recorded and its Job not seen yet; after a lost Job, the message says so."""
    return PhaseSummary(
        phase=_phase(record),
        reason=Reason.STARTING,
        message=record.attempts[-1].outcome.message if record.attempts else "",
        job_missing=was_job_lost(record),
    )


def retry_summary(record: WorkRecord) -> PhaseSummary:
    """The previous attempt failed and the next one has not started."""
    ended = record.attempts[-1]
    message = f"attempt {ended.attempt} failed: {ended.outcome.message or ended.outcome.reason}"
    return PhaseSummary(phase=_phase(record), reason=Reason.RETRY_BACKOFF, message=message)


def _phase(record: WorkRecord) -> Phase:
    """A workflow that has started is Running, also between its Jobs."""
    return Phase.RUNNING if record.stages and record.lifecycle.started_at else Phase.PENDING


def is_job_of_earlier_step(context: PlanContext, note: JobNote) -> bool:
    """Whether the noted Job belongs to a step or iteration that has ended."""
    step = context.record.stage
    return step is not None and not step.owns(note)


def advance_workflow(context: PlanContext, record: WorkRecord, outcome: Outcome) -> WorkPlan | None:
    """The plan after the final attempt of a step; None if the child ends with it."""
    step = record.stage
    result = context.collect_result(record, outcome)
    if step is None or result.outcome.phase is not Phase.SUCCEEDED:
        return None
    end = End(outcome=result.outcome, outputs=result.outputs)
    loop = _loop(context, step.name)
    if loop is not None:
        control = (result.report or {}).get(CONTROL)
        match after_iteration(loop, step.iteration or 1, result.report):
            case Continue():
                last_control = control if isinstance(control, dict) else None
                steps = start_next_iteration(record, end, last_control, context.now)
                return _continue(context, replace(record, stages=steps, attempts=(), stop=None))
            case LoopDone(reason=reason, message=message):
                end = replace(end, stop=reason, message=message)
            case LoopFailed(message=message):
                failed = replace(outcome, phase=Phase.FAILED, reason=Reason.CONDITION_ERROR, message=message)
                return context.finish(record, failed)
            case other:
                assert_never(other)
    record = replace(record, stages=finish_step(record, end, context.now))
    if record.stage is None:
        return context.finish(record, outcome)
    return _continue(context, replace(record, attempts=(), stop=None))


def _loop(context: PlanContext, name: str) -> Loop | None:
    return next((step.loop for step in context.observation.workflow if step.name == name), None)


def _continue(context: PlanContext, record: WorkRecord) -> WorkPlan:
    summary = next_step_summary(record)
    if context.cancel is not None:
        summary = PhaseSummary(phase=Phase.CANCELLING, reason=Reason.CANCELLING)
    return WorkPlan(status=context.status(record, summary), look_again_at=context.now)


def next_step_summary(record: WorkRecord) -> PhaseSummary:
    """The summary between two Jobs of a workflow."""
    step = record.stage
    name = step.name if step else ""
    iteration = f", iteration {step.iteration}" if step and (step.iteration or 1) > 1 else ""
    return PhaseSummary(
        phase=Phase.RUNNING, reason=Reason.STARTING, message=f"starting step {name}{iteration}"
    )
