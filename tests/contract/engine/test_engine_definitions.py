"""Definitions, references and retries with real work."""

import pytest

from contract.engine.engine_place import OK, step


@pytest.mark.rule("DAG-2")
def test_a_step_waits_for_a_tool_that_does_not_exist_yet(place):
    """Pending with ReferenceNotFound until the tool appears."""
    run = place.run_of([step("work", "later")])
    place.await_(
        lambda: [child.get("status", {}).get("reason") for child in run.children()] == ["ReferenceNotFound"],
        "that the child says what it waits for",
    )
    place.tool("later", OK)
    run.ends("Succeeded")
    place.await_executions(work=1)


@pytest.mark.rule("DAG-2")
def test_a_run_waits_for_an_orchestration_that_does_not_exist_yet(place):
    """A missing named object is not an error."""
    run = place.run("later")
    place.await_(
        lambda: run.condition("Ready").get("reason") == "ReferenceNotFound", "that it says what it waits for"
    )
    assert run.status["phase"] == "Pending"
    place.orchestration("later", [step("one")])
    run.ends("Succeeded")


@pytest.mark.rule("DAG-2", "ST-2")
def test_a_bad_orchestration_reports_all_its_problems_and_runs_nothing(place):
    """Invalid, with every problem in the message; a run of it fails at once and starts nothing."""
    place.orchestration(
        "bad",
        [
            step("one", after=["two"]),
            step("two", after=["one"]),
            step("two", after=[]),
            step("four", after=["won"]),
            {"name": "five", "kind": "ToolRun"},
        ],
    )
    place.await_(
        lambda: (place.api.get("Orchestration", "bad").get("status") or {}).get("phase") == "Invalid",
        "that it is Invalid",
    )
    status = place.api.get("Orchestration", "bad")["status"]
    ready = next(condition for condition in status["conditions"] if condition["type"] == "Ready")
    assert ready["status"] == "False"
    for reported in ("one -> two -> one", "won", "toolRef", '"two"'):
        assert reported in ready["message"].replace("'", '"')
    assert status["observedGeneration"] == 1
    run = place.run("bad")
    ended = run.ends("Failed")
    assert ended["reason"] == "InvalidSpec"
    assert run.children() == []


@pytest.mark.rule("DAG-3")
def test_editing_an_orchestration_does_not_change_an_active_run(place):
    """The run executes the definition as it was when the run started."""
    place.tool("slow", "sleep 2")
    place.orchestration("edited", [step("one", "slow"), step("two")])
    run = place.run("edited")
    run.works("one")
    place.api.merge("Orchestration", "edited", {"spec": {"steps": [step("one", "bad")]}})
    run.ends("Succeeded")
    assert run.phases() == {"one": "Succeeded", "two": "Succeeded"}


@pytest.mark.rule("DAG-16")
def test_a_retry_keeps_succeeded_steps(place):
    """A new run of the old definition: kept steps are Reused with their outputs, the others run."""
    place.tool("make", 'echo made > "$JANGAR_RESULT_PATH"')
    place.tool("fragile", "exit 1")
    place.orchestration(
        "pipeline",
        [step("make", "make"), step("use", "fragile", inputs={"what": "{{ steps.make.outputs.result }}"})],
    )
    first = place.run("pipeline", "first")
    first.ends("Failed")
    place.change_tool("fragile", OK)
    uid = first.object["metadata"]["uid"]
    place.api.create("OrchestrationRun", "second", {"retryOf": {"name": "first", "uid": uid}})
    second = type(first)(place, "second")
    second.ends("Succeeded")
    assert second.steps["make"]["reason"] == "Reused"
    assert second.steps["make"]["outputs"] == {"result": "made"}
    assert first.status["phase"] == "Failed"
    place.await_executions(make=1, use=2)
