"""How an attempt begins: its child's name and inputs, or why it cannot. Knows one step at a time."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from jangar.api.phases import StepKind, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.child_names import child_name
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.observation import Limits, RunFacts
from jangar.domain.orchestration.recursion import refuses_nesting
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.settling import failed, moved
from jangar.domain.orchestration.state import StepState
from jangar.domain.orchestration.templates import MissingInput, render


def judged(step: StepDefinition, state: StepState, scope: Scope, now: datetime) -> StepState:
    """The state of a step that may start, once its own condition was asked: unchanged where it holds."""
    if step.when is None:
        return state
    try:
        answer = step.when.evaluate(scope.bindings(step, step.when))
    except ValueError as error:
        return failed(step, state, Reason.CONDITION_ERROR, f"when: {error}", now)
    if answer is True:
        return state
    if answer is False:
        return moved(
            state, now, StepPhase.SKIPPED, Reason.CONDITION_FALSE, f"when is false: {step.when.source}"
        )
    message = f"when: the expression gives {type(answer).__name__}, not true or false"
    return failed(step, state, Reason.CONDITION_ERROR, message, now)


def begun(
    step: StepDefinition, state: StepState, run: RunFacts, limits: Limits, scope: Scope, now: datetime
) -> StepState:
    """The state of a step whose next attempt begins, or that fails at its start."""
    refusal = _refusal(step, run, limits)
    if refusal is not None:
        reason, message = refusal
        return failed(step, state, reason, message, now)
    missing = next(
        (found for found in _rendered(step, scope).values() if isinstance(found, MissingInput)), None
    )
    if missing is not None:
        message = f"{missing.reference} has no value and no default"
        return failed(step, state, Reason.MISSING_INPUT, message, now)
    attempt = state.attempt + 1
    started = moved(state, now, StepPhase.PENDING, Reason.STARTING)
    return replace(
        started,
        attempt=attempt,
        child=child_name(run.name, run.uid, step.name, attempt),
        child_uid=None,
        started_at=state.started_at or now,
        attempt_started_at=now,
        next_retry_at=None,
        exit_code=None,
        stop=None,
    )


def child_parameters(definition: Definition, step: StepDefinition, scope: Scope) -> Mapping[str, str]:
    """What the child is given. A definition that declares no parameters hands all of the run's on, as ever."""
    rendered = {name: value for name, value in _rendered(step, scope).items() if isinstance(value, str)}
    return rendered if definition.declares_parameters else {**scope.parameters, **rendered}


def _rendered(step: StepDefinition, scope: Scope) -> dict[str, str | MissingInput]:
    return {name: render(template, scope) for name, template in step.inputs.items()}


def _refusal(step: StepDefinition, run: RunFacts, limits: Limits) -> tuple[Reason, str] | None:
    if step.kind not in limits.supported_kinds:
        return Reason.UNSUPPORTED_STEP, f"steps of kind {step.kind} are not supported yet"
    if step.kind is StepKind.SUB_ORCHESTRATION and step.target is not None:
        reason = refuses_nesting(run.lineage, step.target, max_depth=limits.max_depth)
        if reason is Reason.RECURSIVE_ORCHESTRATION:
            return reason, f"it would contain itself: {' -> '.join((*run.lineage, step.target))}"
        if reason is not None:
            return reason, f"more than {limits.max_depth} orchestrations inside each other"
    return None
