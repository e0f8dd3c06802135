"""The rules for every recorded version and every action under all faults (I1-I8 of reliability.md).

Checks a simulation from outside: the record, the actual state, and the planner's actions.
"""

from datetime import timedelta
from typing import TYPE_CHECKING

from jangar.api.phases import TERMINAL, Phase, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.planning.actions import (
    Action,
    RemoveRunFinalizer,
    StartChild,
    StopChild,
    SuspendChild,
)
from jangar.domain.orchestration.planning.observation import ChildrenRead
from jangar.domain.orchestration.state import Counts, RunRecord, StepState

if TYPE_CHECKING:
    from support.simulator import Simulation

NEXT_PHASES = {
    None: set(Phase),
    Phase.PENDING: set(Phase),
    Phase.RUNNING: set(Phase) - {Phase.PENDING},
    Phase.CANCELLING: {Phase.CANCELLING, *TERMINAL},
    **{phase: {phase} for phase in TERMINAL},
}
NEXT_STEP_PHASES = {
    StepPhase.PENDING: set(StepPhase),
    StepPhase.RUNNING: set(StepPhase) - {StepPhase.SKIPPED},
    StepPhase.RETRYING: set(StepPhase) - {StepPhase.SKIPPED, StepPhase.SUCCEEDED},
    StepPhase.SUCCEEDED: {StepPhase.SUCCEEDED},
    StepPhase.FAILED: {StepPhase.FAILED},
    StepPhase.SKIPPED: {StepPhase.SKIPPED},
    StepPhase.CANCELLED: {StepPhase.CANCELLED},
}
BY_NEED = {Reason.DEPENDENCY_FAILED, Reason.DEPENDENCY_SKIPPED}
TRUE_IN = {
    "Ready": {Phase.SUCCEEDED},
    "Progressing": {Phase.PENDING, Phase.RUNNING, Phase.CANCELLING},
    "Succeeded": {Phase.SUCCEEDED},
    "Failed": {Phase.FAILED},
    "Cancelled": {Phase.CANCELLED},
}


def check_version(simulation: "Simulation", old: RunRecord, new: RunRecord) -> None:
    """The allowed transitions."""
    before, after = old.lifecycle, new.lifecycle
    assert after.phase in NEXT_PHASES[before.phase], f"I2: {before.phase} -> {after.phase}"
    _check_times("run", before, after)
    assert (before.observed_generation or 0) <= (after.observed_generation or 0), "I4: goes back"
    assert after.observed_generation == simulation.observation().run.generation, "I4: ST-2"
    assert (after.phase in TERMINAL) is (after.finished_at is not None), "ST-4"
    for condition in after.conditions:
        if condition.type in TRUE_IN and condition.status == "True":
            assert after.phase in TRUE_IN[condition.type], f"ST-5: {condition.type} in {after.phase}"
    assert {name for name, phases in TRUE_IN.items() if after.phase in phases and name != "Progressing"} <= {
        condition.type for condition in after.conditions if condition.status == "True"
    }, "ST-5"
    if old.cancel is not None:
        assert new.cancel is not None, "CAN-1"
        assert new.cancel.requested_at == old.cancel.requested_at, "CAN-1"
        assert new.cancel.deadline == old.cancel.deadline, "CAN-6"
    if before.is_terminal:
        assert old.steps == new.steps, "DAG-16: a step changed after the end"
    elif after.is_terminal and new.cancel is not None and any(state.attempt for state in new.steps):
        assert old.cancel is not None, "CAN-2: ended without having been Cancelling"
        assert simulation.children_read is not ChildrenRead.NOT_YET, "CAN-3: ended without a live read"
    states = dict(zip((step.name for step in old.steps), old.steps, strict=True))
    for state in new.steps:
        _check_step(states.get(state.name), state)
    _check_whole(simulation, new)


def _check_times(what: str, before, after) -> None:
    for name in ("started_at", "finished_at"):
        was = getattr(before, name)
        assert was is None or getattr(after, name) == was, f"I3: {what} {name} moved"
    if after.started_at and after.finished_at:
        assert after.started_at <= after.finished_at, f"I3: {what}"


def _check_step(old: StepState | None, new: StepState) -> None:
    if old is not None:
        assert new.phase in NEXT_STEP_PHASES[old.phase], f"{new.name}: {old.phase} -> {new.phase}"
        assert new.attempt in {old.attempt, old.attempt + 1}, f"{new.name}: attempts are counted one by one"
        assert new.attempts[: len(old.attempts)] == old.attempts, f"{new.name}: an ended attempt changed"
        assert not old.is_terminal or old == new, f"{new.name} changed after its end"
        _check_times(new.name, old, new)
    assert new.is_terminal is (new.finished_at is not None), f"ST-4: {new.name}"
    assert len(new.causes) <= 10, new.name
    assert len(new.causes) == min(10, new.causes_total), new.name
    if new.phase is StepPhase.SKIPPED:
        assert new.reason, f"I6: {new.name}"
        assert new.child is None, f"I6: {new.name}"
        assert new.attempt == 0, f"I6: {new.name}"
    assert bool(new.causes) is (new.phase is StepPhase.SKIPPED and new.reason in BY_NEED), f"I6: {new.name}"
    if new.phase is StepPhase.RETRYING:
        assert new.next_retry_at is not None, new.name
    assert not new.failure_ignored or new.phase is StepPhase.FAILED, new.name


def _check_whole(simulation: "Simulation", new: RunRecord) -> None:
    states, phase = new.steps, new.lifecycle.phase
    counts = Counts.of(states).document()
    assert counts.pop("total") == sum(counts.values()) == len(states), "DAG-7: counts"
    if phase in TERMINAL:
        assert all(state.is_terminal for state in states), "DAG-7: ended before its steps"
        left = {item.name for item in new.left_behind}
        noted = {state.child_uid for state in states}
        for child in simulation.world.children.values():
            listed = not child.is_live or child.uid not in noted or child.name in left
            assert listed, f"I7: {child.name} runs on unlisted"
    elif simulation.defined and simulation.pinned and phase is not Phase.CANCELLING:
        assert not all(state.is_terminal for state in states), "DAG-7: did not end with its steps"
    limit = simulation.scenario.max_parallel
    if limit:
        assert sum(state.is_live for state in states) <= limit, "DAG-8"
    if phase is Phase.PENDING:
        assert not any(state.attempt for state in states), "DAG-7: Pending means that nothing started"


def check_action(simulation: "Simulation", action: Action) -> None:
    """The allowed actions for the record and the actual state."""
    recorded = simulation.recorded
    match action:
        case StartChild():
            assert not recorded.lifecycle.is_terminal, "I1: a create for a finished run"
            assert recorded.cancel is None, "I7: a create after Cancelling was recorded"
            state = next(step for step in recorded.steps if step.name == action.step)
            assert (state.attempt, state.child) == (action.attempt, action.child), "intent before the create"
            assert state.is_live, f"I1: a create for {state}"
            _check_needs(simulation, state)
        case StopChild():
            stops = {step.child: step.stop for step in recorded.steps if step.stop and step.is_live}
            left = {item.name for item in recorded.left_behind}
            announced = action.child in stops or action.child in left or recorded.lifecycle.is_terminal
            assert announced, f"CAN-4: {action.child} is stopped unannounced"
            if (stop := stops.get(action.child)) is not None and action.child not in left:
                assert action.deadline == stop.deadline - timedelta(seconds=2), (
                    "CAN-6: 2 s before its parent's"
                )
        case SuspendChild():
            assert not recorded.lifecycle.is_terminal, "a finished run suspends nothing"
        case RemoveRunFinalizer():
            assert recorded.lifecycle.is_terminal, "GC-9: a run goes after its end"
        case _:
            pass


def _check_needs(simulation: "Simulation", state: StepState) -> None:
    scenario = simulation.scenario
    index = next(position for position, step in enumerate(scenario.steps) if step.name == state.name)
    for need in scenario.needs()[index]:
        other = simulation.recorded.steps[need]
        forgiven = other.phase is StepPhase.FAILED and scenario.steps[need].forgiven
        passed_over = scenario.sequential and other.reason == Reason.CONDITION_FALSE
        assert other.phase is StepPhase.SUCCEEDED or forgiven or passed_over, (
            f"I5: {state.name} before {other}"
        )


def check_end(simulation: "Simulation") -> None:
    """The final state once nothing happens any more."""
    recorded = simulation.recorded
    finished = recorded.lifecycle.finished_at
    assert finished is not None
    left = {item.name for item in recorded.left_behind}
    known = {step.child for step in recorded.steps} | {
        attempt.child for step in recorded.steps for attempt in step.attempts
    }
    for child in simulation.world.children.values():
        shown = child.observed()
        assert not child.is_live, f"I7: {child.name} runs on"
        if child.name in known and child.name not in left and shown is not None:
            assert shown.finished_at <= finished, f"I3: {child.name} ended after its run"
    assert all(item.ended_at is not None for item in recorded.left_behind), (
        "CAN-6: cleanup continues to the end"
    )
    unseen = any(state.attempt and state.child_uid is None for state in recorded.steps)
    if recorded.cancel is not None and unseen:
        read = simulation.children_read
        assert read is ChildrenRead.AFTER_REQUEST_TIMEOUT, (
            "CAN-2: what was on the wire was not looked for again"
        )
    terminal = [phase for _, version in simulation.versions if (phase := version.lifecycle.phase) in TERMINAL]
    assert len(set(terminal)) == 1, "I2: one terminal phase"
