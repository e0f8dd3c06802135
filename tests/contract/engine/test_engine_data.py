"""Data between steps: results become inputs, conditions choose steps, and a missing value is never empty."""

import pytest

from contract.engine.engine_namespace import step

pytestmark = pytest.mark.rule("DAG-11")

ECHO = 'printf %s "$SAY" > "$JANGAR_RESULT_PATH"'
SAY = {"SAY": "{{ parameters.say }}"}


@pytest.fixture(autouse=True)
def echo(namespace):
    """A tool whose result is its parameter."""
    namespace.tool("echo", ECHO, env=SAY)


def test_a_result_becomes_an_input(namespace):
    """A JSON object in the file named by JANGAR_RESULT_PATH becomes the step's outputs; others use them by name."""
    run = namespace.run_of(
        [
            step("build", "echo", inputs={"say": '{"image": "app:7", "size": 12, "tags": ["a", "b"]}'}),
            step(
                "deploy",
                "echo",
                inputs={"say": "{{ steps.build.outputs.image }} of {{ steps.build.outputs.size }}"},
            ),
        ]
    )
    run.ends("Succeeded")
    assert run.steps["build"]["outputs"] == {"image": "app:7", "size": "12", "tags": '["a","b"]'}
    assert run.steps["deploy"]["outputs"] == {"result": "app:7 of 12"}


def test_program_output_is_never_a_template(namespace):
    """A value that looks like a template or like shell code is not changed."""
    hostile = "{{ parameters.secret }} $(id) `id` \"quoted\" 'single'"
    run = namespace.run_of(
        [
            step("say", "echo", inputs={"say": "{{ parameters.text }}"}),
            step("repeat", "echo", inputs={"say": "{{ steps.say.outputs.result }}"}),
        ],
        parameters=[{"name": "text", "default": hostile}],
    )
    run.ends("Succeeded")
    assert run.steps["repeat"]["outputs"] == {"result": hostile}


def test_a_missing_output_without_default_fails_the_step_at_its_start(namespace):
    """Never an empty string, never a requeue loop, never retried: MissingInput, and the work does not run."""
    run = namespace.run_of(
        [
            step("build"),
            step("deploy", inputs={"image": "{{ steps.build.outputs.image }}"}, retries=3),
        ]
    )
    run.ends("Failed")
    assert run.reasons() == {"build": "Succeeded", "deploy": "MissingInput"}
    namespace.await_executions(build=1)


def test_a_default_replaces_a_missing_output(namespace):
    """Declared with the output, or written where it is used."""
    run = namespace.run_of(
        [
            step("build", outputs=[{"name": "image", "default": "app:latest"}]),
            step(
                "deploy",
                "echo",
                inputs={"say": '{{ steps.build.outputs.image }} {{ steps.build.outputs.x ?? "y" }}'},
            ),
        ]
    )
    run.ends("Succeeded")
    assert run.steps["deploy"]["outputs"] == {"result": "app:latest y"}


def test_a_result_that_is_too_large_fails_the_step(namespace):
    """More than 4,096 bytes are rejected by name, not truncated."""
    namespace.tool("big", 'head -c 5000 /dev/zero | tr "\\000" x > "$JANGAR_RESULT_PATH"')
    run = namespace.run_of([step("big", "big")])
    run.ends("Failed")
    assert run.reasons()["big"] == "OutputsTooLarge"


@pytest.mark.rule("DAG-5")
def test_a_false_condition_skips_the_step_and_what_depends_on_it(namespace):
    """The step's own reason is ConditionFalse; a dependent's is DependencySkipped, and the run succeeds."""
    run = namespace.run_of(
        [
            step("check", "echo", [], inputs={"say": '{"ship": "no"}'}),
            step("ship", after=["check"], when="steps.check.outputs.ship == 'yes'"),
            step("announce", after=["ship"]),
            step("report", after=["check"], when="steps.check.outputs.ship == 'no'"),
        ]
    )
    status = run.ends("Succeeded")
    assert run.reasons() | {"report": "", "check": ""} == {
        "check": "",
        "ship": "ConditionFalse",
        "announce": "DependencySkipped",
        "report": "",
    }
    assert status["counts"]["skipped"] == 2
    namespace.await_executions(check=1, report=1)


@pytest.mark.rule("DAG-5")
def test_a_false_condition_in_a_sequence_skips_only_its_step(namespace):
    """Sequential: the next step runs."""
    run = namespace.run_of([step("one", when="false"), step("two")])
    run.ends("Succeeded")
    assert run.phases() == {"one": "Skipped", "two": "Succeeded"}


@pytest.mark.rule("DAG-5")
def test_a_condition_that_cannot_be_evaluated_fails_the_step(namespace):
    """Neither false nor true: ConditionError."""
    run = namespace.run_of(
        [step("one", "echo", inputs={"say": "{}"}), step("two", when="steps.one.outputs.nothing == 'x'")]
    )
    run.ends("Failed")
    assert run.reasons()["two"] == "ConditionError"
    namespace.await_executions(one=1)
