"""What templates and conditions of a run may see (DAG-11)."""

from dataclasses import replace

import pytest

from jangar.api.phases import StepPhase
from jangar.domain.orchestration.planning.initial import initial_states
from jangar.domain.orchestration.scope import Scope
from support.builders import NOON, a_definition, a_step

DEFINITION = a_definition(
    a_step("a", outputs=[{"name": "image", "default": "scratch"}, {"name": "tag"}]),
    a_step("b"),
    a_step("c", "b"),
    parameters=[{"name": "env", "default": "dev"}, {"name": "team"}],
)


def a_scope(given=None, **outputs):
    states = [
        replace(state, phase=StepPhase.SUCCEEDED, reason="Succeeded", outputs=outputs[state.name])
        if state.name in outputs
        else state
        for state in initial_states(DEFINITION, {}, NOON)
    ]
    return Scope(DEFINITION, given or {}, states)


class Naming:
    """A condition that names steps and is never evaluated."""

    source = "steps.a"

    def __init__(self, *names):
        self.names = names

    def references(self, variable):
        return frozenset(self.names) if variable == "steps" else frozenset({"b", "c"})

    def uses_whole(self, _variable):
        return True

    def evaluate(self, bindings):
        raise NotImplementedError


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        pytest.param({}, "env", "dev", id="default"),
        pytest.param({"env": "prod"}, "env", "prod", id="the-runs-value-wins"),
        pytest.param({"env": ""}, "env", "", id="empty-text-is-a-value"),
        pytest.param({}, "team", None, id="no-value-and-no-default"),
    ],
)
def test_a_parameter_is_the_runs_value_or_the_default(given, name, expected):
    """DAG-11: never an empty string for what is missing."""
    assert a_scope(given).parameter(name) == expected


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("outputs", "step", "name", "expected"),
    [
        pytest.param({"a": {"image": "nginx"}}, "a", "image", "nginx", id="written"),
        pytest.param({"a": {"image": ""}}, "a", "image", "", id="written-empty"),
        pytest.param({"a": {"tag": "1"}}, "a", "image", "scratch", id="default"),
        pytest.param({"a": None}, "a", "image", "scratch", id="default-without-outputs"),
        pytest.param({}, "a", "image", "scratch", id="default-of-a-step-that-did-not-run"),
        pytest.param({"a": {"image": "nginx"}}, "a", "tag", None, id="not-written-and-no-default"),
        pytest.param({"a": {"image": "nginx"}}, "b", "image", None, id="another-steps"),
        pytest.param({}, "nobody", "image", None, id="no-such-step"),
    ],
)
def test_an_output_is_what_the_step_wrote_or_its_default(outputs, step, name, expected):
    """DAG-11: a missing output is None, never empty text."""
    assert a_scope(**outputs).output(step, name) == expected


@pytest.mark.rule("DAG-11")
def test_a_condition_sees_parameters_and_the_steps_it_names_or_needs():
    """DAG-11: `when` is over `parameters` and `steps`; a name that is no step binds nothing."""
    scope = a_scope({"team": "core"}, a={"tag": "1"})
    assert scope.bindings(DEFINITION.steps[2], Naming("a", "nobody")) == {
        "parameters": {"env": "dev", "team": "core"},
        "steps": {
            "a": {"phase": "Succeeded", "reason": "Succeeded", "outputs": {"image": "scratch", "tag": "1"}},
            "b": {"phase": "Pending", "reason": "", "outputs": {}},
        },
    }


@pytest.mark.rule("DAG-11")
def test_a_condition_that_names_nothing_sees_its_dependencies_only():
    """DAG-11: a root without names sees no step."""
    assert a_scope().bindings(DEFINITION.steps[0], Naming())["steps"] == {}
    assert list(a_scope().bindings(DEFINITION.steps[2], Naming())["steps"]) == ["b"]


@pytest.mark.rule("DAG-8")
def test_steps_are_bound_in_list_order():
    """DAG-8: the same observation gives the same bindings."""
    assert list(a_scope().bindings(DEFINITION.steps[2], Naming("c", "a"))["steps"]) == ["a", "b", "c"]


@pytest.mark.rule("DAG-11")
def test_what_a_step_wrote_wins_over_its_default():
    """DAG-11: the default is for an output that was not written."""
    shown = a_scope(a={"image": "nginx"}).bindings(DEFINITION.steps[0], Naming("a"))["steps"]["a"]
    assert shown["outputs"] == {"image": "nginx"}


def test_bound_words_are_plain_text():
    """DAG-11: an expression language compares text, not our enums."""
    shown = a_scope(a={}).bindings(DEFINITION.steps[0], Naming("a"))["steps"]["a"]
    assert [type(shown["phase"]), type(shown["reason"])] == [str, str]
