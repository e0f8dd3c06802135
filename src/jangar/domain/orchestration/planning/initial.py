"""The initial states of a run, and what a retry executes and keeps (DAG-16)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from jangar.api.phases import StepPhase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.planning.child_results import transition
from jangar.domain.orchestration.state import StepState


def initial_states(
    definition: Definition, reused: Mapping[str, Mapping[str, str]], now: datetime
) -> tuple[StepState, ...]:
    """Every step Pending, or Succeeded/Reused with the outputs it had in the run that is retried."""
    if not reused:
        return definition.fresh
    return tuple(
        _reused(state, reused[state.name], now) if state.name in reused else state
        for state in definition.fresh
    )


def never_started(definition: Definition, reason: Reason, now: datetime) -> tuple[StepState, ...]:
    """The states of a run that ended before it started: every step is Skipped."""
    return tuple(transition(state, now, StepPhase.SKIPPED, reason) for state in definition.fresh)


def _reused(state: StepState, outputs: Mapping[str, str], now: datetime) -> StepState:
    kept = transition(state, now, StepPhase.SUCCEEDED, Reason.REUSED, "reused from the retried run")
    return replace(kept, outputs=dict(outputs) or None)


def reused_steps(
    definition: Definition, ended: Sequence[StepState], from_step: str | None
) -> Mapping[str, Mapping[str, str]] | Problem:
    """Steps that a retry does not repeat, with their outputs.

    A retry repeats `from_step`, or without it every step that did not succeed, and all steps that depend on a
    repeated one.
    """
    graph = definition.graph
    if from_step is not None and from_step not in graph.names:
        return Problem(
            reason=Reason.INVALID_SPEC,
            path=("spec", "retryOf", "fromStep"),
            message=f'the retried run has no step "{from_step}"',
            fix="name one of its steps",
        )
    phases = {state.name: state.phase for state in ended}
    repeated = {
        index for index, name in enumerate(graph.names) if phases.get(name) is not StepPhase.SUCCEEDED
    }
    if from_step is not None:
        repeated.add(graph.names.index(from_step))
    for index in graph.order:
        if not repeated.isdisjoint(graph.needs[index]):
            repeated.add(index)
    outputs = {state.name: state.outputs or {} for state in ended}
    return {name: outputs[name] for index, name in enumerate(graph.names) if index not in repeated}


def source_problem(retried: str, *, made_of: str | None, has_own: bool, named: str | None) -> Problem | None:
    """The problem if a retry names another Orchestration than the one that its snapshot was taken from.

    `made_of` is the Orchestration of the snapshot; `has_own` means that the retried run has an inline definition. If
    neither is known, there is no problem.
    """
    if named is None or made_of == named or (made_of is None and not has_own):
        return None
    source = f"Orchestration {made_of}" if made_of else "an inline definition"
    return Problem(
        reason=Reason.INVALID_SPEC,
        path=("spec", "orchestrationRef"),
        message=f"the run retries {retried}, which was created from {source}, not from Orchestration {named}",
        fix="remove spec.orchestrationRef, or remove spec.retryOf",
    )


def own_definition_problem() -> Problem:
    """The problem that a retry has an inline definition."""
    return Problem(
        reason=Reason.INVALID_SPEC,
        path=("spec", "orchestration"),
        message="a run with retryOf executes the definition of the retried run and cannot have an inline definition",
        fix="remove spec.orchestration, or remove spec.retryOf",
    )
