"""What follows a Job of a workflow step that succeeded: the next iteration, the next step, or the end."""

from dataclasses import replace
from typing import assert_never

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.job_execution.outcome import Outcome
from jangar.domain.job_execution.plan_context import PlanContext, WorkPlan
from jangar.domain.job_execution.record import JobNote, WorkRecord
from jangar.domain.job_execution.recording import PhaseSummary
from jangar.domain.job_execution.workflow import (
    CONTROL,
    Continue,
    Loop,
    LoopDone,
    LoopFailed,
    after_iteration,
)
from jangar.domain.job_execution.workflow_status import End, finish_step, start_next_iteration


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
