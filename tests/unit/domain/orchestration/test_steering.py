"""What is asked of a live step's child (CAN-3, CAN-6, DAG-9, DAG-15, GC-2)."""

from dataclasses import replace

import pytest

from jangar.api.phases import Phase, StepKind, StepPhase
from jangar.domain.orchestration.planning.actions import ConfirmChild, StartChild, StopChild, SuspendChild
from jangar.domain.orchestration.planning.observation import ChildGone
from jangar.domain.orchestration.planning.starting import next_action
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.state import StepState, Stop
from support.builders import NOON, a_child, a_definition, a_run, a_step, an_observation, at

TOOL = a_step("a", **{"with": {"k": "v"}})
NESTED = {"name": "a", "kind": "SubOrchestration", "orchestrationRef": {"name": "inner"}}
STARTED = StepState(name="a", kind=StepKind.TOOL_RUN, phase=StepPhase.PENDING, attempt=2, child="child")
SEEN = replace(STARTED, child_uid="uid-of-child")
STOPPED = replace(SEEN, stop=Stop(requested_at=NOON, reason="StepTimedOut", deadline=at(60)))
START = StartChild(step="a", kind=StepKind.TOOL_RUN, attempt=2, child="child", parameters={"k": "v"})
STOP = StopChild(child="child", reason="StepTimedOut", deadline=at(58))


def steered(state, child, *, step=TOOL, suspend=False):
    definition = a_definition(step)
    observation = an_observation(definition, run=a_run(suspend=suspend))
    return next_action(observation, definition.steps[0], state, child, Scope(definition, {}, [state]))


@pytest.mark.rule("DAG-9", "GC-2")
@pytest.mark.parametrize(
    ("state", "child", "expected"),
    [
        pytest.param(STARTED, None, START, id="never-seen-is-created-under-the-same-name"),
        pytest.param(STARTED, ChildGone(name="child"), START, id="never-there-is-created-again"),
        pytest.param(SEEN, None, ConfirmChild(step="a", child="child"), id="seen-once-is-read-uncached"),
        pytest.param(SEEN, a_child("child"), None, id="runs-and-needs-nothing"),
        pytest.param(STARTED, a_child("child"), None, id="just-appeared"),
        pytest.param(replace(STARTED, child=None), None, None, id="no-child"),
    ],
)
def test_a_recorded_start_is_repeated_until_the_child_is_seen(state, child, expected):
    """DAG-9, GC-2: intent is recorded first; a cache that lacks a child never says that it is gone."""
    assert steered(state, child) == expected


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("child", "expected"),
    [
        pytest.param(None, STOP, id="not-in-the-cache"),
        pytest.param(ChildGone(name="child"), STOP, id="gone"),
        pytest.param(a_child("child"), STOP, id="running"),
        pytest.param(a_child("child", Phase.PENDING), STOP, id="pending"),
        pytest.param(a_child("child", stop_requested=True), None, id="has-heard"),
        pytest.param(a_child("child", Phase.FAILED), None, id="has-ended"),
    ],
)
def test_a_stop_is_repeated_until_the_child_acknowledges_it(child, expected):
    """CAN-6: with an absolute deadline two seconds before the step's own."""
    assert steered(STOPPED, child) == expected


@pytest.mark.rule("DAG-15")
@pytest.mark.parametrize(
    ("step", "wanted", "suspended", "expected"),
    [
        pytest.param(NESTED, True, False, SuspendChild(child="child", suspend=True), id="suspend"),
        pytest.param(NESTED, False, True, SuspendChild(child="child", suspend=False), id="resume"),
        pytest.param(NESTED, True, True, None, id="is-suspended"),
        pytest.param(NESTED, False, False, None, id="is-not-suspended"),
        pytest.param(TOOL, True, False, None, id="a-tool-run-goes-on"),
    ],
)
def test_suspend_is_passed_to_nested_runs_only(step, wanted, suspended, expected):
    """DAG-15: it is passed to nested runs, and so is its end."""
    assert steered(SEEN, a_child("child", suspended=suspended), step=step, suspend=wanted) == expected


@pytest.mark.rule("DAG-15")
def test_a_stop_comes_before_a_suspend():
    """DAG-15: cancel works while suspended."""
    assert steered(STOPPED, a_child("child"), step=NESTED, suspend=True) == STOP
