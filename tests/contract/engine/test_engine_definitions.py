"""Definitions, references and retries with real work."""

import pytest

from contract.engine.engine_namespace import OK, step


@pytest.mark.rule("DAG-2")
def test_a_step_waits_for_a_tool_that_does_not_exist_yet(namespace):
    """Pending with ReferenceNotFound until the tool appears."""
    run = namespace.run_of([step("work", "later")])
    namespace.await_(
        lambda: [child.get("status", {}).get("reason") for child in run.children()] == ["ReferenceNotFound"],
        "that the child reports what it waits for",
    )
    namespace.tool("later", OK)
    run.ends("Succeeded")
    namespace.await_executions(work=1)


@pytest.mark.rule("DAG-2")
def test_a_run_waits_for_an_orchestration_that_does_not_exist_yet(namespace):
    """A missing named object is not an error."""
    run = namespace.run("later")
    namespace.await_(
        lambda: run.condition("Ready").get("reason") == "ReferenceNotFound",
        "that it reports what it waits for",
    )
    assert run.status["phase"] == "Pending"
    namespace.orchestration("later", [step("one")])
    run.ends("Succeeded")


@pytest.mark.rule("DAG-2", "ST-2")
def test_a_bad_orchestration_reports_all_its_problems_and_runs_nothing(namespace):
    """Invalid, with every problem in the message; a run of it fails at once and starts nothing."""
    namespace.orchestration(
        "bad",
        [
            step("one", after=["two"]),
            step("two", after=["one"]),
            step("two", after=[]),
            step("four", after=["won"]),
            {"name": "five", "kind": "ToolRun"},
        ],
    )
    namespace.await_(
        lambda: (namespace.api.get("Orchestration", "bad").get("status") or {}).get("phase") == "Invalid",
        "that it is Invalid",
    )
    status = namespace.api.get("Orchestration", "bad")["status"]
    ready = next(condition for condition in status["conditions"] if condition["type"] == "Ready")
    assert ready["status"] == "False"
    for reported in ("one -> two -> one", "won", "toolRef", '"two"'):
        assert reported in ready["message"].replace("'", '"')
    assert status["observedGeneration"] == 1
    run = namespace.run("bad")
    ended = run.ends("Failed")
    assert ended["reason"] == "InvalidSpec"
    assert run.children() == []


@pytest.mark.rule("DAG-3")
def test_editing_an_orchestration_does_not_change_an_active_run(namespace):
    """The run executes the definition as it was when the run started."""
    namespace.tool("slow", "sleep 2")
    namespace.orchestration("edited", [step("one", "slow"), step("two")])
    run = namespace.run("edited")
    run.works("one")
    namespace.api.merge("Orchestration", "edited", {"spec": {"steps": [step("one", "bad")]}})
    run.ends("Succeeded")
    assert run.phases() == {"one": "Succeeded", "two": "Succeeded"}


@pytest.mark.rule("DAG-16")
def test_a_retry_keeps_succeeded_steps(namespace):
    """A new run of the old definition: kept steps are Reused with their outputs, the others run."""
    namespace.tool("make", 'echo made > "$JANGAR_RESULT_PATH"')
    namespace.tool("fragile", "exit 1")
    namespace.orchestration(
        "pipeline",
        [step("make", "make"), step("use", "fragile", inputs={"what": "{{ steps.make.outputs.result }}"})],
    )
    first = namespace.run("pipeline", "first")
    first.ends("Failed")
    namespace.change_tool("fragile", OK)
    uid = first.object["metadata"]["uid"]
    namespace.api.create("OrchestrationRun", "second", {"retryOf": {"name": "first", "uid": uid}})
    second = type(first)(namespace, "second")
    second.ends("Succeeded")
    assert second.steps["make"]["reason"] == "Reused"
    assert second.steps["make"]["outputs"] == {"result": "made"}
    assert first.status["phase"] == "Failed"
    namespace.await_executions(make=1, use=2)
