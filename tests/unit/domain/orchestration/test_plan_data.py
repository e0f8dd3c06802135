"""How data flows through a run (DAG-11)."""

import pytest

from jangar.domain.orchestration.planning.actions import StartChild
from support.builders import a_definition, a_step
from support.run_driver import Driver


def with_(**values):
    return {"with": values}


def given(run, step):
    return next(
        action.parameters for action in run.actions if isinstance(action, StartChild) and action.step == step
    )


@pytest.mark.rule("DAG-11")
def test_outputs_and_parameters_reach_the_child_that_asks_for_them():
    """DAG-11: `{{ parameters.x }}` and `{{ steps.build.outputs.y }}` are replaced."""
    run = Driver(
        a_definition(
            a_step("build"),
            a_step("ship", "build", **with_(ref="{{ parameters.repo }}:{{ steps.build.outputs.tag }}")),
            parameters=[{"name": "repo", "default": "acme/app"}, {"name": "unused"}],
        ),
        parameters={"unused": "1"},
    )
    run.tick()
    assert given(run, "build") == {}
    run.child("build").succeeds(tag="v7")
    run.tick(1)
    assert given(run, "ship") == {"ref": "acme/app:v7"}
    assert run.step("build").outputs == {"tag": "v7"}


@pytest.mark.rule("DAG-11")
def test_a_repeated_start_carries_the_same_values():
    """DAG-11: they follow from what is recorded."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a", **with_(k="{{ steps.a.outputs.x }}"))))
    run.tick()
    run.child("a").succeeds(x="1")
    run.tick(1)
    run.tick(1)
    assert given(run, "b") == {"k": "1"}


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        pytest.param(
            {"outputs": [{"name": "x", "default": "d"}]}, "{{ steps.a.outputs.x }}", "d", id="declared"
        ),
        pytest.param({}, '{{ steps.a.outputs.x ?? "e" }}', "e", id="in-place"),
        pytest.param(
            {"outputs": [{"name": "x", "default": "d"}]},
            '{{ steps.a.outputs.x ?? "e" }}',
            "d",
            id="declared-first",
        ),
    ],
)
def test_a_missing_output_has_its_default(step, text, expected):
    """DAG-11: declared by the step that should write it, or given in place."""
    run = Driver(a_definition(a_step("a", **step), a_step("b", "a", **with_(k=text))))
    run.tick()
    run.child("a").succeeds()
    run.tick(1)
    assert given(run, "b") == {"k": expected}


@pytest.mark.rule("DAG-11")
def test_a_missing_output_without_a_default_fails_the_step_at_its_start():
    """DAG-11: MissingInput, never an empty string, never a requeue loop, never retried."""
    run = Driver(a_definition(a_step("a"), a_step("b", "a", retries=3, **with_(k="{{ steps.a.outputs.x }}"))))
    run.tick()
    run.child("a").succeeds(y="1")
    run.tick(1)
    assert (run.steps["b"], run.actions, run.look_again_at) == ("Failed/MissingInput", (), None)
    assert run.step("b").message == "steps.a.outputs.x has no value and no default"
    assert run.phase == "Failed/StepFailed"


@pytest.mark.rule("DAG-11")
def test_outputs_of_a_forgiven_failure_have_their_defaults():
    """DAG-11: a step that failed wrote nothing."""
    run = Driver(
        a_definition(
            a_step("a", continueOnFailure=True, outputs=[{"name": "x", "default": "none"}]),
            a_step("b", "a", **with_(k="{{ steps.a.outputs.x }}")),
        )
    )
    run.tick()
    run.child("a").fails()
    run.tick(1)
    assert given(run, "b") == {"k": "none"}


@pytest.mark.rule("DAG-11")
def test_values_are_data_and_are_never_read_as_templates():
    """DAG-11: nothing that is filled in is scanned again."""
    run = Driver(
        a_definition(a_step("a", **with_(k="{{ parameters.x }}"))), parameters={"x": "{{ parameters.y }}"}
    )
    run.tick()
    assert given(run, "a")["k"] == "{{ parameters.y }}"


@pytest.mark.rule("DAG-11")
def test_a_run_returns_its_outputs_when_it_has_succeeded():
    """DAG-11: spec.outputs says what a nested run returns."""
    run = Driver(
        a_definition(a_step("a"), outputs=[{"name": "image", "value": "{{ steps.a.outputs.image }}"}])
    )
    run.tick()
    assert run.record.outputs is None
    run.child("a").succeeds(image="nginx")
    run.tick(1)
    assert (run.phase, run.record.outputs) == ("Succeeded/Succeeded", {"image": "nginx"})


@pytest.mark.rule("DAG-11")
def test_a_run_that_failed_returns_nothing():
    """DAG-11: outputs are those of a success."""
    run = Driver(
        a_definition(a_step("a"), a_step("b"), outputs=[{"name": "x", "value": "{{ steps.a.outputs.x }}"}])
    )
    run.tick()
    run.child("a").succeeds(x="1")
    run.child("b").fails()
    run.tick(1)
    assert (run.phase, run.record.outputs) == ("Failed/StepFailed", None)


@pytest.mark.rule("DAG-11")
def test_a_run_whose_outputs_are_too_large_has_failed():
    """DAG-11: Failed/OutputsTooLarge."""
    run = Driver(
        a_definition(
            a_step("a"), outputs=[{"name": "x", "value": "{{ steps.a.outputs.x }}{{ steps.a.outputs.x }}"}]
        )
    )
    run.tick()
    run.child("a").succeeds(x="y" * 4000)
    run.tick(1)
    assert (run.phase, run.record.outputs) == ("Failed/OutputsTooLarge", None)
    assert run.condition("Failed") == "True/OutputsTooLarge"
    assert run.record.lifecycle.finished_at is not None


@pytest.mark.rule("DAG-11")
def test_the_childs_own_verdict_about_its_outputs_fails_the_step():
    """DAG-11: at most 4,096 bytes, else Failed/OutputsTooLarge."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.child("a").fails("OutputsTooLarge", exit_code=0)
    run.tick(1)
    assert (run.steps["a"], run.step("a").exit_code) == ("Failed/OutputsTooLarge", 0)
