"""The next action for the child of a live step: start, confirm, stop, suspend, or nothing."""

from jangar.api.phases import TERMINAL, StepKind
from jangar.domain.orchestration.actions import Action, ConfirmChild, StartChild, StopChild, SuspendChild
from jangar.domain.orchestration.definition import StepDefinition
from jangar.domain.orchestration.observation import Child, ChildSeen, Observation
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.starting import child_parameters
from jangar.domain.orchestration.state import StepState


def steer(
    observation: Observation, step: StepDefinition, state: StepState, child: Child | None, scope: Scope
) -> Action | None:
    """The action that the recorded state requires and the child has not acknowledged."""
    name = state.child
    if name is None:
        return None
    if state.stop is not None:
        if isinstance(child, ChildSeen) and (child.stop_requested or child.phase in TERMINAL):
            return None
        deadline = state.stop.deadline - observation.limits.child_margin
        return StopChild(child=name, reason=state.stop.reason, deadline=deadline)
    if isinstance(child, ChildSeen):
        wanted = observation.run.suspend
        if step.kind is StepKind.SUB_ORCHESTRATION and child.suspended != wanted:
            return SuspendChild(child=name, suspend=wanted)
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
