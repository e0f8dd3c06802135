"""The plan before makes the next one cheaper and changes nothing else (DAG-8, DAG-14)."""

from dataclasses import replace

import pytest

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.phases import Phase
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.planning.observation import Limits
from jangar.domain.orchestration.planning.plan import plan
from jangar.domain.orchestration.validation import define
from support.builders import NOON, PythonCondition, a_child, a_definition, a_step, an_observation, at
from support.run_driver import Driver


class Counted(PythonCondition):
    """A condition that counts how often it is asked."""

    evaluations = 0

    def evaluate(self, bindings):
        type(self).evaluations += 1
        return super().evaluate(bindings)


@pytest.fixture
def counted():
    Counted.evaluations = 0
    return Counted


def a_counted_definition(*steps, **spec):
    found = define(
        OrchestrationSpec.model_validate({"steps": list(steps), **spec}), compile_condition=Counted
    )
    assert isinstance(found, Definition)
    return found


def first_plan(definition, **more):
    observation = an_observation(definition, **more)
    return observation, plan(observation, NOON)


def next_observation(observation, before, *children):
    return replace(observation, recorded=before.status, children={child.name: child for child in children})


@pytest.mark.rule("DAG-14")
def test_with_the_previous_plan_a_condition_that_waits_for_capacity_is_not_evaluated_again(counted):
    """DAG-14: known results are not computed again; without the previous plan they are."""
    definition = a_counted_definition(
        a_step("a"), *(a_step(f"b{index}", when="True") for index in range(5)), policies={"maxParallel": 1}
    )
    observation, before = first_plan(definition)
    assert counted.evaluations == 5
    child = a_child(before.status.steps[0].child, Phase.SUCCEEDED)
    after = next_observation(observation, before, child)
    made = plan(after, at(1), before)
    assert counted.evaluations == 5
    assert made == plan(after, at(1))
    assert counted.evaluations == 10


@pytest.mark.rule("DAG-14")
def test_only_children_that_changed_are_looked_at():
    """DAG-14: the very same child object says that nothing happened."""
    definition = a_definition(a_step("a"), a_step("b"))
    observation, before = first_plan(definition)
    names = [state.child for state in before.status.steps]
    seen = [a_child(name) for name in names]
    observation = next_observation(observation, before, *seen)
    before = plan(observation, at(1), before)
    looked = []

    class Watched(dict):
        def get(self, key, default=None):
            looked.append(key)
            return super().get(key, default)

    ended = replace(seen[0], phase=Phase.SUCCEEDED)
    children = Watched({names[0]: ended, names[1]: seen[1]})
    made = plan(replace(observation, recorded=before.status, children=children), at(2), before)
    assert made.status.steps[0].phase == "Succeeded"
    assert looked.count(names[1]) == 1, "compared, and not settled"
    assert looked.count(names[0]) == 2, "compared and settled"


@pytest.mark.rule("DAG-8")
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"definition": a_definition(a_step("a"), a_step("b", "a"))}, id="definition"),
        pytest.param({"limits": Limits(max_depth=3)}, id="limits"),
        pytest.param({"run": "generation"}, id="run"),
    ],
)
def test_a_basis_is_not_used_once_anything_but_children_and_time_has_changed(change, counted):
    """DAG-8: then everything is computed again, with equal results."""
    definition = a_counted_definition(a_step("x"), a_step("y", when="True"), policies={"maxParallel": 1})
    observation, before = first_plan(definition)
    after = next_observation(observation, before)
    if "definition" in change:
        change = {"definition": replace(definition)}
    if "run" in change:
        change = {"run": replace(observation.run, generation=2)}
    evaluations = counted.evaluations
    plan(replace(after, **change), at(1), before)
    assert counted.evaluations == evaluations + 1
    plan(after, at(1), before)
    assert counted.evaluations == evaluations + 1, "and it is used where nothing has"


@pytest.mark.rule("DAG-8")
def test_a_basis_is_not_used_for_another_record(counted):
    """DAG-8: another client wrote the status in between."""
    definition = a_counted_definition(a_step("x"), a_step("y", when="True"), policies={"maxParallel": 1})
    observation, before = first_plan(definition)
    after = next_observation(observation, before)
    evaluations = counted.evaluations
    reread = replace(after, recorded=replace(before.status, steps=(*before.status.steps,)))
    assert plan(reread, at(1), before) == plan(after, at(1), before)
    assert counted.evaluations == evaluations + 1


@pytest.mark.rule("DAG-8")
@pytest.mark.parametrize(
    ("now", "further_evaluations"),
    [
        pytest.param(at(0.001), False, id="later"),
        pytest.param(NOON, False, id="at-the-same-time"),
        pytest.param(at(-0.001), True, id="earlier"),
    ],
)
def test_a_basis_is_not_used_by_a_clock_that_was_set_back(now, further_evaluations, counted):
    """DAG-8: timers that have fired are gone from it."""
    definition = a_counted_definition(a_step("x"), a_step("y", when="True"), policies={"maxParallel": 1})
    observation, before = first_plan(definition)
    evaluations = counted.evaluations
    plan(next_observation(observation, before), now, before)
    assert counted.evaluations == evaluations + further_evaluations


@pytest.mark.rule("DAG-8")
def test_a_plan_may_be_made_twice_from_the_same_basis():
    """DAG-8: a pass works on its own copy."""
    definition = a_definition(a_step("a", retries=1, retryBackoffSeconds=5), a_step("b", "a"), a_step("c"))
    observation, before = first_plan(definition)
    child = a_child(before.status.steps[0].child, Phase.FAILED)
    after = next_observation(observation, before, child)
    first = plan(after, at(1), before)
    assert plan(after, at(1), before) == first
    assert plan(after, at(1), before).basis.progress is not before.basis.progress
    assert plan(next_observation(observation, before), at(1), before).actions == before.actions


@pytest.mark.rule("DAG-8")
def test_a_timer_is_noticed_though_no_child_has_changed():
    """DAG-10: fires on a timer, not on the next unrelated event."""
    definition = a_definition(a_step("a", timeoutSeconds=10), a_step("b", timeoutSeconds=20))
    observation, before = first_plan(definition)
    late = plan(next_observation(observation, before), at(10), before)
    assert [state.reason for state in late.status.steps] == ["Stopping", "Starting"]
    assert late.look_again_at == at(20)


@pytest.mark.rule("DAG-8")
def test_a_story_is_the_same_with_and_without_the_plan_before():
    """DAG-8: the driver compares both at every tick; this story visits most rules."""
    run = Driver(
        a_definition(
            a_step("a", retries=2, retryBackoffSeconds=3),
            a_step("b", "a", when="parameters['x'] == '1'"),
            a_step("c", timeoutSeconds=4, continueOnFailure=True),
            a_step("d", "c"),
            a_step("e", "b", "d"),
            a_step("f"),
            a_step("g", "f"),
            policies={"maxParallel": 2, "timeouts": {"totalSeconds": 60}},
        ),
        parameters={"x": "1"},
    )
    run.tick()
    run.child("a").runs()
    run.child("c").runs()
    run.tick(1)
    run.child("a").fails("NonZeroExit")
    run.tick(1)
    assert run.starts == ["f"]
    run.tick(2)
    run.child("c").hears_stop()
    run.tick(1)
    run.child("f").fails("OOMKilled")
    run.tick(1)
    assert run.steps["g"] == "Skipped/DependencyFailed"
    assert run.starts == ["a"]
    run.child("c").ends_cancelled()
    run.tick(1)
    assert run.starts == ["a", "d"]
    run.child("a").succeeds()
    run.child("d").succeeds()
    run.tick(1)
    assert run.starts == ["b"]
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["e"]
    run.child("e").runs()
    run.tick(51)
    run.child("e").hears_stop()
    run.tick(1)
    run.tick(59)
    assert run.steps == {
        "a": "Succeeded/Succeeded",
        "b": "Succeeded/Succeeded",
        "c": "Failed/StepTimedOut",
        "d": "Succeeded/Succeeded",
        "e": "Failed/RunTimedOut",
        "f": "Failed/OOMKilled",
        "g": "Skipped/DependencyFailed",
    }
    assert run.phase == "Failed/RunTimedOut"
    assert len(run.record.left_behind) == 1
