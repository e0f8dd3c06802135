"""Applies a child's state to its step: running, finished, failed and retried, timed out, or lost."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from jangar.api.phases import TERMINAL, OnJobMissing, Phase, StepPhase
from jangar.api.reasons import NEVER_RETRIED, Reason
from jangar.domain.cancellation import Stop, timeout_message, while_waiting, with_detail
from jangar.domain.orchestration.definition import StepDefinition
from jangar.domain.orchestration.outputs import with_defaults
from jangar.domain.orchestration.planning.observation import Child, ChildGone, ChildRefused, ChildSeen
from jangar.domain.orchestration.state import Attempt, StepState

AT_RUN_LIMIT = "stopped at the run's time limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStateRules:
    """Rules that apply to all steps of a run in one pass."""

    now: datetime
    default_retries: int
    stop_timeout: timedelta
    retries_allowed: bool
    """False once the run is being stopped: nothing starts again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepUpdate:
    """A step's state after applying its child's state."""

    state: StepState
    left_behind: bool = False
    """Its child, or its child's work, had not ended at the deadline of its stop."""


def apply_child_state(
    step: StepDefinition, state: StepState, child: Child | None, rules: ChildStateRules
) -> StepUpdate:
    """The state of a live step after the latest observation of its child."""
    match child:
        case ChildSeen() if child.phase in TERMINAL:
            return StepUpdate(
                state=_apply_finished_child(step, state, child, rules), left_behind=child.left_behind
            )
        case ChildSeen():
            return _still_running(step, _apply_running_child(state, child, rules.now), rules)
        case ChildRefused():
            return StepUpdate(state=_apply_refused_create(step, state, child, rules))
        case ChildGone() if state.child_uid is not None or _may_assume_gone(state, rules.now):
            return StepUpdate(state=_apply_deleted_child(step, state, rules))
        case ChildGone() | None:
            return _still_running(step, state, rules)
        case _:
            assert_never(child)


def _may_assume_gone(state: StepState, now: datetime) -> bool:
    """Whether a child that was never observed may be assumed gone. Its create may be in flight: a retry waits for the
    stop's deadline, which is later (DAG-9); without a retry, cleanup finds and stops it.
    """
    stop = state.stop
    return stop is not None and (stop.reason != Reason.STEP_TIMED_OUT or now >= stop.deadline)


def transition(
    state: StepState, now: datetime, phase: StepPhase, reason: str, message: str = ""
) -> StepState:
    """The state in another phase, with the time of the transition and of the end."""
    changed = replace(state, phase=phase, reason=reason, message=message)
    if phase is state.phase:
        return state if changed == state else changed
    return replace(
        changed, last_transition_time=now, finished_at=now if changed.is_terminal else state.finished_at
    )


def mark_stopping(state: StepState, stop: Stop) -> StepState:
    """The state of a live step with a requested stop.

    An earlier stop stays in force; only its deadline may become earlier (CAN-6).
    """
    if state.stop is not None:
        if state.stop.deadline <= stop.deadline:
            return state
        return replace(state, stop=replace(state.stop, deadline=stop.deadline))
    if not stop.message and stop.reason == Reason.RUN_TIMED_OUT:
        message = while_waiting(AT_RUN_LIMIT, reason=state.reason, message=state.message)
        stop = replace(stop, message=message if message != AT_RUN_LIMIT else "")
    announced = transition(
        state,
        stop.requested_at,
        StepPhase.RUNNING,
        Reason.STOPPING,
        f"stopping: {stop.message or stop.reason}",
    )
    return replace(announced, stop=stop)


def _apply_running_child(state: StepState, child: ChildSeen, now: datetime) -> StepState:
    """The step shows its child's phase, unless it is being stopped."""
    started = state.attempt_started_at
    if state.child_uid != child.uid:
        # The API server's clock has whole seconds: the later of both is never before the child's creation.
        started = max(child.created_at, started) if started else child.created_at
        state = replace(state, child_uid=child.uid, attempt_started_at=started)
    if state.stop is not None:
        return state
    if child.phase is Phase.PENDING:
        return transition(state, now, StepPhase.PENDING, child.reason or Reason.STARTING, child.message)
    return transition(state, now, StepPhase.RUNNING, child.reason or Reason.RUNNING, child.message)


def _still_running(step: StepDefinition, state: StepState, rules: ChildStateRules) -> StepUpdate:
    """The state after checking the attempt's timeout, or the deadline of its stop."""
    if state.stop is not None:
        if rules.now < state.stop.deadline:
            return StepUpdate(state=state)
        return StepUpdate(state=_stop_verdict(step, state, rules, left_behind=True), left_behind=True)
    if step.timeout and state.attempt_started_at and rules.now >= state.attempt_started_at + step.timeout:
        announced = Stop(
            requested_at=rules.now,
            reason=Reason.STEP_TIMED_OUT,
            deadline=rules.now + rules.stop_timeout,
            message=timeout_message(step.timeout, reason=state.reason, message=state.message),
        )
        return StepUpdate(state=mark_stopping(state, announced))
    return StepUpdate(state=state)


def _apply_finished_child(
    step: StepDefinition, state: StepState, child: ChildSeen, rules: ChildStateRules
) -> StepState:
    """The end of an attempt whose child ended. The child's result counts, however late it is observed."""
    state = replace(state, child_uid=child.uid, exit_code=child.exit_code)
    match child.phase:
        case Phase.SUCCEEDED:
            outputs = with_defaults(child.outputs or {}, step.output_defaults)
            done = transition(state, rules.now, StepPhase.SUCCEEDED, Reason.SUCCEEDED, child.message)
            return replace(done, outputs=outputs or None, stop=None)
        case Phase.FAILED:
            reason = child.reason or Reason.CHILD_FAILED
            return _failed(step, state, reason, child.message, rules, left_behind=child.left_behind)
        case _ if state.stop is not None:
            verdict = _stop_verdict(
                step, state, rules, left_behind=child.left_behind, child_message=child.message
            )
            return _with_partial_outputs(verdict, child)
        case _ if child.deleting:
            message = "the child was deleted externally"
            return _failed(step, state, Reason.CHILD_DELETED, message, rules)
        case _:
            message = child.message or "the child was cancelled directly"
            cancelled = transition(state, rules.now, StepPhase.CANCELLED, Reason.CHILD_CANCELLED, message)
            return _with_partial_outputs(cancelled, child)


def _with_partial_outputs(state: StepState, child: ChildSeen) -> StepState:
    """A cancelled child: its outputs are shown, but no step depends on a cancelled one."""
    return replace(state, outputs=child.outputs or None) if state.phase is StepPhase.CANCELLED else state


def _apply_refused_create(
    step: StepDefinition, state: StepState, child: ChildRefused, rules: ChildStateRules
) -> StepState:
    if state.stop is not None:
        return _stop_verdict(step, state, rules)
    # Whatever the server's own word for it: a create that was refused for good is refused again.
    message = f"{child.reason}: {child.message}" if child.reason else child.message
    return _failed(step, state, child.failure, message, rules)


def _apply_deleted_child(step: StepDefinition, state: StepState, rules: ChildStateRules) -> StepState:
    if state.stop is not None:
        return _stop_verdict(step, state, rules)
    return _failed(step, state, Reason.CHILD_DELETED, "the child was deleted externally", rules)


def _stop_verdict(
    step: StepDefinition,
    state: StepState,
    rules: ChildStateRules,
    *,
    left_behind: bool = False,
    child_message: str = "",
) -> StepState:
    """The end of a stopped attempt: never a success, with the reason of the stop. `child_message` is the child's."""
    reason = state.stop.reason if state.stop else Reason.CANCELLED
    if reason == Reason.CANCELLED:
        cancel_reason = Reason.CANCEL_TIMED_OUT if left_behind else Reason.RUN_CANCELLED
        message = "its work did not stop by the deadline and may still be running" if left_behind else ""
        return transition(
            state, rules.now, StepPhase.CANCELLED, cancel_reason, with_detail(message, child_message)
        )
    default_message = "stopped at its time limit" if reason == Reason.STEP_TIMED_OUT else AT_RUN_LIMIT
    message = with_detail((state.stop and state.stop.message) or default_message, child_message)
    if left_behind:
        message += "; its work did not stop by the deadline and may still be running"
    return _failed(step, state, reason, message, rules, left_behind=left_behind)


def _failed(
    step: StepDefinition,
    state: StepState,
    reason: str,
    message: str,
    rules: ChildStateRules,
    *,
    left_behind: bool = False,
) -> StepState:
    """The state after a failed attempt: Retrying if a retry is allowed and safe, else Failed."""
    if _may_retry(step, state, reason, rules, left_behind=left_behind):
        waiting = transition(state, rules.now, StepPhase.RETRYING, reason, message)
        ended = Attempt(
            attempt=state.attempt,
            phase=StepPhase.FAILED,
            reason=reason,
            message=message,
            child=state.child,
            started_at=state.attempt_started_at,
            finished_at=rules.now,
            exit_code=state.exit_code,
        )
        return replace(
            waiting,
            attempts=(*state.attempts, ended),
            next_retry_at=rules.now + step.retry_backoff,
            stop=None,
        )
    return fail_step(step, state, reason, message, rules.now)


def fail_step(step: StepDefinition, state: StepState, reason: str, message: str, now: datetime) -> StepState:
    """The state of a step that failed for good."""
    ended = transition(state, now, StepPhase.FAILED, reason, message)
    return replace(ended, failure_ignored=step.continue_on_failure, next_retry_at=None)


def _may_retry(
    step: StepDefinition, state: StepState, reason: str, rules: ChildStateRules, *, left_behind: bool
) -> bool:
    retries = step.retries if step.retries is not None else rules.default_retries
    if not rules.retries_allowed or reason in NEVER_RETRIED or state.attempt > retries:
        return False
    may_still_run = left_behind or reason == Reason.WORKFLOW_JOB_MISSING
    return not may_still_run or step.on_job_missing is OnJobMissing.RETRY
