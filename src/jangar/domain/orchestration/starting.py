"""How an attempt begins: its child's name and inputs, or why it cannot. Knows one step at a time."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from jangar.api.phases import CHILD_KINDS, StepKind, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.child_identity import child_hash, child_spec
from jangar.domain.orchestration.child_names import child_name, label_value
from jangar.domain.orchestration.child_results import fail_step, transition
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.observation import Limits, RunFacts
from jangar.domain.orchestration.recursion import nesting_refusal
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
    """The state of a step that may start, once its own condition was asked: unchanged where it holds."""
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
    """What the child of this attempt will be recognized by; None for kinds of steps that have none."""
    if step.kind not in CHILD_KINDS:
        return None
    return child_hash(
        step.kind,
        child_spec(step.kind, step, child_parameters(scope.definition, step, scope)),
        run_uid=run.uid,
        step=label_value(step.name),
        attempt=str(attempt),
        lineage=",".join(run.lineage),
    )


def child_parameters(definition: Definition, step: StepDefinition, scope: Scope) -> Mapping[str, str]:
    """What the child of a step that could begin is given. A value that is missing by now is left out."""
    inputs = _inputs(definition, step, scope)
    if not isinstance(inputs, MissingInput | TooLarge):
        return inputs
    rendered = {name: render(template, scope) for name, template in step.inputs.items()}
    return {name: value for name, value in rendered.items() if isinstance(value, str)}


def _inputs(
    definition: Definition, step: StepDefinition, scope: Scope
) -> Mapping[str, str] | MissingInput | TooLarge:
    """The values of `with`. A definition that declares no parameters hands all of the run's on, as ever."""
    handed_on = {} if definition.declares_parameters else scope.parameters
    own = sum(json_size(name) + json_size(value) for name, value in handed_on.items())
    if own > MAX_RENDERED_BYTES:
        return TooLarge(most=MAX_RENDERED_BYTES)
    rendered = render_all(step.inputs, scope, most=MAX_RENDERED_BYTES - own)
    match rendered:
        case MissingInput():
            return rendered
        case TooLarge():
            return TooLarge(most=MAX_RENDERED_BYTES)
        case _:
            return {**handed_on, **rendered}


def _refusal(step: StepDefinition, run: RunFacts, limits: Limits) -> tuple[Reason, str] | None:
    if step.kind not in limits.supported_kinds:
        return Reason.UNSUPPORTED_STEP, f"steps of kind {step.kind} are not supported yet"
    if step.kind is StepKind.SUB_ORCHESTRATION and step.target is not None:
        reason = nesting_refusal(run.lineage, step.target, max_depth=limits.max_depth)
        if reason is Reason.RECURSIVE_ORCHESTRATION:
            return (
                reason,
                f"the orchestration would contain itself: {' -> '.join((*run.lineage, step.target))}",
            )
        if reason is not None:
            return reason, f"orchestrations are nested more than {limits.max_depth} levels deep"
    return None
