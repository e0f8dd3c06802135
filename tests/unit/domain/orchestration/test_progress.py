"""The index that one pass works on: built from what is recorded, kept up to date, taken over (DAG-4, DAG-8, DAG-10)."""

from dataclasses import replace

import pytest

from jangar.api.phases import StepPhase
from jangar.domain.orchestration.planning.initial import initial_states
from jangar.domain.orchestration.planning.progress import Progress
from jangar.domain.orchestration.state import Stop
from support.builders import NOON, a_definition, a_step, at

PASSED_OVER = {"phase": StepPhase.SKIPPED, "reason": "ConditionFalse"}
SUCCEEDED = {"phase": StepPhase.SUCCEEDED}
FAILED = {"phase": StepPhase.FAILED}
LIVE = {"phase": StepPhase.RUNNING, "attempt": 1, "attempt_started_at": NOON}
LIST = a_definition(a_step("a", graph=False), a_step("b", graph=False), a_step("c", graph=False))
GRAPH = a_definition(a_step("a"), a_step("b", "a"), a_step("c", "b"))
TIMED = a_definition(a_step("a", timeoutSeconds=10), a_step("b", timeoutSeconds=20), a_step("c"))


def progress(definition, **states):
    fresh = initial_states(definition, {}, NOON)
    return Progress(definition, [replace(state, **states.get(state.name, {})) for state in fresh])


def touched(found):
    names = []
    while (index := found.next_touched()) is not None:
        names.append(found.states[index].name)
    return names


@pytest.mark.rule("DAG-4", "DAG-5")
@pytest.mark.parametrize(
    ("definition", "states", "unmet", "expected"),
    [
        pytest.param(GRAPH, {}, [0, 1, 1], ["a"], id="nothing-has-begun"),
        pytest.param(GRAPH, {"a": LIVE}, [0, 1, 1], [], id="a-root-runs"),
        pytest.param(GRAPH, {"a": SUCCEEDED}, [0, 0, 1], ["b"], id="released"),
        pytest.param(GRAPH, {"a": FAILED}, [0, 1, 1], ["b"], id="barred"),
        pytest.param(GRAPH, {"a": PASSED_OVER}, [0, 1, 1], ["b"], id="a-false-condition-bars-in-a-graph"),
        pytest.param(LIST, {"a": PASSED_OVER}, [0, 0, 1], ["b"], id="and-releases-in-a-list"),
        pytest.param(LIST, {"a": PASSED_OVER, "b": LIVE}, [0, 0, 1], [], id="the-next-one-runs"),
    ],
)
def test_what_is_recorded_says_which_steps_to_look_at(definition, states, unmet, expected):
    """DAG-4, DAG-5: those that may start and those that must be skipped, after a restart as before it."""
    found = progress(definition, **states)
    assert found.unmet == unmet
    assert touched(found) == expected


@pytest.mark.rule("DAG-8")
def test_steps_are_looked_at_once_each_in_topological_order():
    """DAG-8: however often and in whatever order they were touched."""
    found = progress(a_definition(a_step("c", "b"), a_step("b"), a_step("a")))
    assert touched(found) == ["b", "a"]
    found.touch([2, 1, 2, 1])
    assert touched(found) == ["b", "a"]


@pytest.mark.rule("DAG-10")
def test_timers_are_taken_in_the_order_of_their_times():
    """DAG-10: exactly at the limit, each once; a step without a limit has no timer."""
    found = progress(TIMED, a=LIVE, b=LIVE, c=LIVE)
    assert found.next_timer(NOON) == at(10)
    assert found.due(at(9.999)) == []
    assert found.due(at(10)) == [0]
    assert found.due(at(10)) == []
    assert found.next_timer(at(10)) == at(20)


@pytest.mark.rule("DAG-10")
def test_a_timer_that_no_longer_holds_does_not_fire():
    """DAG-10: the step has ended, or is being stopped with a deadline of its own."""
    found = progress(TIMED, a=LIVE, b=LIVE)
    found.move(0, replace(found.states[0], phase=StepPhase.SUCCEEDED))
    stop = Stop(requested_at=NOON, reason="Cancelled", deadline=at(60))
    found.move(1, replace(found.states[1], stop=stop))
    assert found.due(at(59.999)) == []
    assert found.next_timer(at(59.999)) == at(60)
    assert found.due(at(60)) == [1]


@pytest.mark.rule("DAG-9")
def test_a_retry_that_is_due_waits_for_a_place_and_not_for_time():
    """DAG-9: before its time it has a timer."""
    waiting = {"phase": StepPhase.RETRYING, "attempt": 1, "next_retry_at": at(5)}
    found = progress(TIMED, a=waiting)
    assert found.next_timer(at(4.999)) == at(5)
    assert found.next_timer(at(5)) is None


@pytest.mark.rule("DAG-8")
def test_what_one_pass_does_leaves_the_pass_before_untouched():
    """DAG-8: nothing is shared that either may change."""
    before = progress(TIMED, a=LIVE, b={"phase": StepPhase.RETRYING, "attempt": 1, "next_retry_at": at(5)})
    after = before.copy()
    after.move(0, replace(after.states[0], phase=StepPhase.FAILED))
    after.move(1, replace(after.states[1], phase=StepPhase.CANCELLED, reason="RunCancelled"))
    after.move(2, replace(after.states[2], phase=StepPhase.RUNNING, attempt=1))
    after.touch([0])
    assert after.due(at(99)) == []
    assert (after.live, after.placed, after.retrying, after.unforgiven, after.cut) == ({2}, 1, set(), {0}, 1)
    assert after.changed == {0, 1, 2}
    assert (before.live, before.placed, before.retrying, before.unforgiven, before.cut) == (
        {0},
        1,
        {1},
        set(),
        0,
    )
    assert (before.changed, before.tally.ended, len(before.timers)) == (set(), 0, 2)
    assert touched(before) == ["c"]


@pytest.mark.rule("DAG-7")
def test_a_run_has_ended_when_its_last_step_has():
    """DAG-7: not all terminal, all terminal."""
    found = progress(GRAPH, a=SUCCEEDED, b=FAILED)
    assert not found.all_terminal
    found.move(2, replace(found.states[2], phase=StepPhase.SKIPPED))
    assert found.all_terminal
