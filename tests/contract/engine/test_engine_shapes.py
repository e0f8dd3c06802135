"""Graph shapes: start order, and each step's work runs once."""

import pytest

from contract.engine.engine_namespace import nested, step

pytestmark = pytest.mark.rule("RUN-1", "DAG-4")


def ended_before(run, earlier, later):
    """Whether one step's end was recorded before the other started."""
    steps = run.steps
    return steps[earlier]["finishedAt"] <= steps[later]["startedAt"]


@pytest.mark.rule("DAG-1")
def test_without_dependencies_steps_run_one_after_another(namespace):
    """No step has `dependsOn`: the list is the order."""
    run = namespace.run_of([step("one"), step("two"), step("three")])
    status = run.ends("Succeeded")
    assert status["executionMode"] == "Sequential"
    assert ended_before(run, "one", "two")
    assert ended_before(run, "two", "three")
    namespace.await_executions(one=1, two=1, three=1)


@pytest.mark.rule("DAG-1")
def test_an_empty_list_of_dependencies_makes_a_graph(namespace):
    """One `dependsOn: []` is enough: steps without the key are roots and run at once."""
    run = namespace.run_of([step("one", "forever", []), step("two")])
    run.reaches(one="Running", two="Succeeded")
    assert run.status["executionMode"] == "Graph"
    run.cancel()
    run.ends("Cancelled")


@pytest.mark.rule("DAG-4", "ST-4", "ST-5")
def test_a_diamond_joins_when_both_branches_have_ended(namespace):
    """The last step waits for both branches, and the run's status shows all of it."""
    namespace.orchestration(
        "diamond",
        [
            step("top", after=[]),
            step("left", after=["top"]),
            step("right", after=["top"]),
            step("end", after=["left", "right"]),
        ],
    )
    run = namespace.run("diamond")
    status = run.ends("Succeeded")
    assert ended_before(run, "top", "left")
    assert ended_before(run, "left", "end")
    assert ended_before(run, "right", "end")
    assert status["steps"] == "4/4"
    assert status["counts"]["succeeded"] == 4
    assert status["startedAt"] <= status["finishedAt"]
    assert status["observedGeneration"] == run.object["metadata"]["generation"]
    for kind, expected in {
        "Succeeded": "True",
        "Ready": "True",
        "Failed": "False",
        "Progressing": "False",
    }.items():
        assert run.condition(kind)["status"] == expected
    namespace.await_executions(top=1, left=1, right=1, end=1)


@pytest.mark.rule("DAG-4", "DAG-8")
def test_a_fan_out_runs_side_by_side_and_joins(namespace):
    """Twelve independent steps, each once, and the step that waits for all of them."""
    names = [f"part-{number}" for number in range(12)]
    run = namespace.run_of([step(name, after=[]) for name in names] + [step("all", after=names)])
    run.ends("Succeeded", seconds=namespace.bed.patience * 2)
    assert all(ended_before(run, name, "all") for name in names)
    namespace.await_executions(**dict.fromkeys([*names, "all"], 1))


@pytest.mark.rule("DAG-8")
def test_max_parallel_bounds_the_live_children(namespace):
    """With a limit of two, three steps are never active together."""
    run = namespace.run_of(
        [step(f"part-{number}", after=[]) for number in range(5)], policies={"maxParallel": 2}
    )
    run.ends("Succeeded", seconds=namespace.bed.patience * 2)
    times = [
        moment for item in run.steps.values() for moment in ((item["startedAt"], 1), (item["finishedAt"], -1))
    ]
    live, most = 0, 0
    for _, change in sorted(times):
        live += change
        most = max(most, live)
    assert most == 2


@pytest.mark.rule("DAG-11", "DAG-13")
def test_a_nested_run_takes_inputs_and_returns_outputs(namespace):
    """A SubOrchestration is an ordinary step: parameters in, outputs out, and its end triggers the parent."""
    namespace.tool(
        "greet",
        'echo "{\\"text\\": \\"hello $WHO\\"}" > "$JANGAR_RESULT_PATH"',
        env={"WHO": "{{ parameters.who }}"},
    )
    namespace.orchestration(
        "inner",
        [step("greet", "greet", inputs={"who": "{{ parameters.who }}"})],
        parameters=[{"name": "who", "required": True}],
        outputs=[{"name": "greeting", "value": "{{ steps.greet.outputs.text }}"}],
    )
    run = namespace.run_of(
        [
            nested("call", "inner", inputs={"who": "world"}),
            step("say", "greet", inputs={"who": "again: {{ steps.call.outputs.greeting }}"}),
        ]
    )
    run.ends("Succeeded")
    assert run.steps["call"]["outputs"] == {"greeting": "hello world"}
    assert run.steps["say"]["outputs"] == {"text": "hello again: hello world"}
    namespace.await_executions(greet=1, say=1)


@pytest.mark.rule("DAG-13")
def test_a_recursive_orchestration_is_rejected(namespace):
    """The second level would never end: the nested create is rejected by name."""
    namespace.orchestration("endless", [nested("again", "endless")])
    run = namespace.run("endless")
    run.ends("Failed")
    assert run.reasons()["again"] == "RecursiveOrchestration"
