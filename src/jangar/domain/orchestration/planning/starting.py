"""Starts an attempt: its child's name, hash and inputs, or why it fails; and the next action for its child."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from jangar.api.phases import TERMINAL, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.child_names import child_hash, child_name, label_value
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.planning.actions import (
    Action,
    ConfirmChild,
    StartChild,
    StopChild,
    SuspendChild,
)
from jangar.domain.orchestration.planning.child_results import fail_step, transition
from jangar.domain.orchestration.planning.observation import Child, ChildSeen, Limits, Observation, RunFacts
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.state import StepState
from jangar.domain.orchestration.templates import (
    MAX_RENDERED_BYTES,
    MissingInput,
    TooLarge,
    json_size,
    render,
    render_all,
)


def evaluate_when(step: StepDefinition, state: StepState, scope: Scope, now: datetime) -> StepState:
    """The state after evaluating the step's own condition: unchanged if it is true."""
    if step.when is None:
        return state
    try:
        answer = step.when.evaluate(scope.bindings(step, step.when))
    except ValueError as error:
        return fail_step(step, state, Reason.CONDITION_ERROR, f"when: {error}", now)
    if answer is True:
        return state
    if answer is False:
        return transition(
            state, now, StepPhase.SKIPPED, Reason.CONDITION_FALSE, f"when is false: {step.when.source}"
        )
    message = f"when: the expression evaluates to {type(answer).__name__}, not to a boolean"
    return fail_step(step, state, Reason.CONDITION_ERROR, message, now)


def start_attempt(
    step: StepDefinition, state: StepState, run: RunFacts, limits: Limits, scope: Scope, now: datetime
) -> StepState:
    """The state of a step whose next attempt begins, or that fails at its start."""
    refusal = _refusal(step, run, limits)
    if refusal is not None:
        reason, message = refusal
        return fail_step(step, state, reason, message, now)
    match _inputs(scope.definition, step, scope):
        case MissingInput(reference=reference):
            message = f"{reference} has no value and no default"
            return fail_step(step, state, Reason.MISSING_INPUT, message, now)
        case TooLarge() as too_large:
            return fail_step(step, state, Reason.TOO_LARGE, str(too_large), now)
    attempt = state.attempt + 1
    started = transition(state, now, StepPhase.PENDING, Reason.STARTING)
    return replace(
        started,
        attempt=attempt,
        child=child_name(run.name, run.uid, step.name, attempt),
        child_uid=None,
        child_hash=expected_child_hash(step, attempt, run, scope),
        started_at=state.started_at or now,
        attempt_started_at=now,
        next_retry_at=None,
        exit_code=None,
        stop=None,
    )


def expected_child_hash(step: StepDefinition, attempt: int, run: RunFacts, scope: Scope) -> str | None:
    """The hash by which the child of this attempt is recognized; None for steps that create no child."""
    adapter = step.adapter
    if adapter.child is None:
        return None
    return child_hash(
        adapter,
        adapter.start(step.source, step.target, child_parameters(scope.definition, step, scope)),
        run_uid=run.uid,
        step=label_value(step.name),
        attempt=str(attempt),
        lineage=",".join(run.lineage),
    )


def child_parameters(definition: Definition, step: StepDefinition, scope: Scope) -> Mapping[str, str]:
    """The parameters of the child of a started step. A value that is missing by now is omitted."""
    inputs = _inputs(definition, step, scope)
    if not isinstance(inputs, MissingInput | TooLarge):
        return inputs
    rendered = {name: render(template, scope) for name, template in step.inputs.items()}
    return {name: value for name, value in rendered.items() if isinstance(value, str)}


def _inputs(
    definition: Definition, step: StepDefinition, scope: Scope
) -> Mapping[str, str] | MissingInput | TooLarge:
    """The values of `with`. A definition that declares no parameters passes all of the run's to its children."""
    inherited = {} if definition.declares_parameters else scope.parameters
    inherited_size = sum(json_size(name) + json_size(value) for name, value in inherited.items())
    if inherited_size > MAX_RENDERED_BYTES:
        return TooLarge(most=MAX_RENDERED_BYTES)
    rendered = render_all(step.inputs, scope, most=MAX_RENDERED_BYTES - inherited_size)
    match rendered:
        case MissingInput():
            return rendered
        case TooLarge():
            return TooLarge(most=MAX_RENDERED_BYTES)
        case _:
            return {**inherited, **rendered}


def _refusal(step: StepDefinition, run: RunFacts, limits: Limits) -> tuple[Reason, str] | None:
    adapter, supported = step.adapter, limits.supported_kinds
    if adapter.child is None if supported is None else step.kind not in supported:
        return Reason.UNSUPPORTED_STEP, f"steps of kind {step.kind} are not supported yet"
    if adapter.refuse_start is not None:
        return adapter.refuse_start(step.target, run.lineage, limits.max_depth)
    return None


def next_action(
    observation: Observation, step: StepDefinition, state: StepState, child: Child | None, scope: Scope
) -> Action | None:
    """The action that the recorded state of a live step requires and its child has not acknowledged."""
    name = state.child
    if name is None:
        return None
    if state.stop is not None:
        if isinstance(child, ChildSeen) and (child.stop_requested or child.phase in TERMINAL):
            return None
        deadline = state.stop.deadline - observation.limits.child_margin
        return StopChild(child=name, reason=state.stop.reason, deadline=deadline)
    if isinstance(child, ChildSeen):
        suspend = observation.run.suspend
        if step.adapter.suspend is not None and child.suspended != suspend:
            return SuspendChild(child=name, suspend=suspend)
        return None
    if child is None and state.child_uid is not None:
        return ConfirmChild(step=step.name, child=name)
    return StartChild(
        step=step.name,
        kind=step.kind,
        attempt=state.attempt,
        child=name,
        parameters=child_parameters(scope.definition, step, scope),
    )
