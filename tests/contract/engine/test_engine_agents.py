"""AgentRuns executed by the real runner in their container; the agents are ordinary commands."""

import json

import pytest

from contract.engine.engine_agents import ANSWER, WITH_COMPANY
from contract.engine.engine_namespace import FOREVER


@pytest.mark.rule("DAG-11")
def test_an_agent_runs_to_completion_and_returns_outputs(agents):
    """The command gets the rendered task, its result becomes the outputs, and the runner's own log is not part of
    them.
    """
    agents.agent("teller", ANSWER)
    status = agents.ends(agents.run("teller"), "Succeeded")
    assert status["outputs"] == {"answer": "say work"}
    assert status["runner"]["exitCode"] == 0
    agents.namespace.await_executions(work=1)
    (job,) = agents.api.all("Job")
    pod = job["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert job["metadata"]["labels"]["agents.proompteng.ai/agent-run"] == "run"
    files = [item for item in agents.api.all("ConfigMap") if "run.json" in (item.get("data") or {})]
    assert [file["immutable"] for file in files] == [True]
    assert json.loads(files[0]["data"]["run.json"])["agentRun"]["name"] == "run"


@pytest.mark.rule("DAG-2")
def test_a_run_waits_for_an_agent_that_does_not_exist_yet(agents):
    """ReferenceNotFound for the Agent and for its provider until they exist."""
    name = agents.run("late")
    waiting = agents.reaches(name, "Pending")
    assert (waiting["reason"], waiting["message"]) == ("ReferenceNotFound", 'Agent "late" does not exist')
    agents.api.create("Agent", "late", {"providerRef": {"name": "late"}})
    agents.namespace.await_(
        lambda: agents.status(name)["message"] == 'AgentProvider "late" does not exist',
        "that the message reports it",
    )
    agents.provider("late", ANSWER)
    agents.ends(name, "Succeeded")
    agents.namespace.await_executions(work=1)


@pytest.mark.rule("CAN-1", "CAN-4", "CAN-7")
def test_a_cancelled_agent_is_stopped_and_keeps_its_output(agents):
    """Its program and all processes it started end, and its result so far is in the outcome."""
    agents.agent("busy", WITH_COMPANY + FOREVER)
    name = agents.run("busy")
    agents.begins(name)
    agents.says_all(name)
    agents.api.merge("AgentRun", name, {"spec": {"cancel": True}})
    status = agents.ends(name, "Cancelled")
    assert status["outcome"]["reason"] == "Cancelled"
    assert status["outcome"]["outputs"] == status["outputs"]
    assert status["runner"]["status"] == "cancelled"
    agents.is_alone(status["outputs"])
    agents.namespace.await_executions(work=1)


@pytest.mark.rule("CAN-3", "CAN-4", "CAN-7")
def test_a_cancelled_step_shows_the_output_of_its_agent(agents):
    """The run passes the cancel on, and its step shows the result so far."""
    agents.agent("busy", WITH_COMPANY + FOREVER)
    ask = {"kind": "AgentRun", "agentRef": {"name": "busy"}, "implementation": {"inline": {"text": "work"}}}
    run = agents.namespace.run_of(
        [
            {"name": "work", **ask, "with": {"mark": "work"}},
            {"name": "after", **ask, "with": {"mark": "after"}},
        ]
    )
    run.works("work")
    (child,) = agents.api.all("AgentRun")
    agents.says_all(child["metadata"]["name"])
    run.cancel()
    run.ends("Cancelled")
    assert run.phases() == {"work": "Cancelled", "after": "Skipped"}
    agents.is_alone(run.steps["work"]["outputs"])
    agents.namespace.await_executions(work=1)


@pytest.mark.rule("DAG-10")
def test_the_agents_own_timeout_applies(agents):
    """`defaults.timeoutSeconds` of the Agent stops the attempt."""
    agents.agent("slow", FOREVER, timeoutSeconds=3)
    status = agents.ends(agents.run("slow"), "Failed")
    assert status["reason"] == "StepTimedOut"


@pytest.mark.rule("DAG-9")
def test_a_failed_agent_is_retried_as_its_agent_configures(agents):
    """`defaults.retryLimit` of the Agent; each attempt is recorded and ran once."""
    agents.agent("flaky", "exit 3", retryLimit=2)
    status = agents.ends(agents.run("flaky"), "Failed")
    assert status["outcome"]["exitCode"] == 3
    assert [attempt["attempt"] for attempt in status["attempts"]] == [1, 2]
    assert status["job"]["attempt"] == 3
    agents.namespace.await_executions(work=3)


@pytest.mark.rule("GC-3")
def test_deleting_the_job_of_an_agent_is_a_failure(agents):
    """JobDeleted, once its program has ended."""
    agents.agent("busy", FOREVER)
    name = agents.run("busy")
    agents.begins(name)
    (job,) = agents.api.all("Job")
    agents.api.delete("Job", job["metadata"]["name"])
    assert agents.ends(name, "Failed")["reason"] == "JobDeleted"
    agents.namespace.await_executions(work=1)


def test_the_second_run_with_an_idempotency_key_does_nothing(agents):
    """idempotencyKey applies to runs of the same Agent."""
    agents.agent("teller", ANSWER)
    agents.ends(agents.run("teller", "one", idempotencyKey="k"), "Succeeded")
    status = agents.ends(agents.run("teller", "two", idempotencyKey="k"), "Failed")
    assert status["reason"] == "StartRefused"
    assert "one has the same idempotencyKey" in status["message"]
    agents.namespace.await_executions(work=1)


@pytest.mark.parametrize("runtime", ["temporal", "custom"])
def test_an_unknown_runtime_is_rejected_by_name(agents, runtime):
    """At once, and nothing is started."""
    agents.agent("teller", ANSWER)
    status = agents.ends(agents.run("teller", runtime={"type": runtime}), "Failed")
    assert status["reason"] == "InvalidSpec"
    assert runtime in status["message"]
    assert agents.api.all("Job") == []


@pytest.mark.rule("DAG-9", "DAG-11")
def test_agents_are_steps_of_an_orchestration(agents):
    """Outputs flow from one to the next, and a step's own retries run it again."""
    agents.agent("teller", ANSWER)
    agents.agent("flaky", "exit 3", retryLimit=5)
    ask = {"kind": "AgentRun", "agentRef": {"name": "teller"}}
    run = agents.namespace.run_of(
        [
            {
                "name": "first",
                **ask,
                "implementation": {"inline": {"text": "one"}},
                "with": {"mark": "first"},
                "outputs": [{"name": "answer"}],
                "dependsOn": [],
            },
            {
                "name": "second",
                **ask,
                "implementation": {"inline": {"text": "after {{ parameters.said }}"}},
                "with": {"mark": "second", "said": "{{ steps.first.outputs.answer }}"},
                "dependsOn": ["first"],
            },
            {
                "name": "bad",
                "kind": "AgentRun",
                "agentRef": {"name": "flaky"},
                "implementation": {"inline": {"text": "fail"}},
                "with": {"mark": "bad"},
                "retries": 1,
                "continueOnFailure": True,
                "dependsOn": [],
            },
        ]
    )
    run.ends("Succeeded", seconds=agents.namespace.bed.patience * 2)
    assert run.steps["second"]["outputs"] == {"answer": "after one"}
    assert run.steps["bad"]["attempt"] == 2
    agents.namespace.await_executions(first=1, second=1, bad=2)
