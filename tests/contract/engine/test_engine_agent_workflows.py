"""AgentRuns with several steps: sequential Jobs, retried, looped, stopped, and lost."""

import pytest

from contract.engine.engine_agents import ANSWER, SAY
from contract.engine.engine_namespace import FOREVER

LATER = 'case "$HOSTNAME" in run-"$MARK"-1-*) %s;; esac\n'
"""Runs in the first attempt only, which it recognizes by the pod's name."""
COUNT_DOWN = """
printf '{"more": %s}' "$([ "$ITERATION" -lt 3 ] && echo true || echo false)" > "$AGENT_LOOP_CONTROL_PATH"
"""


def step(name, **fields):
    return {"name": name, **fields}


def phases(status):
    return [item["phase"] for item in status["workflow"]["steps"]]


def at_work(agents, name, mark):
    """Wait until the program of a step runs."""
    agents.namespace.await_(lambda: agents.namespace.executions()[mark], f"that the program of {mark} begins")
    agents.namespace.await_(lambda: agents.steps(name)[mark]["phase"] == "Running", f"that {mark} is Running")


def job_of(agents, name, mark):
    return agents.steps(name)[mark]["jobRef"]["name"]


@pytest.mark.rule("DAG-4", "DAG-11", "GC-1")
def test_steps_of_an_agent_run_one_after_another(agents):
    """Each in its own Job with its own task; the result of the last step is the result of the run."""
    agents.agent("teller", ANSWER)
    name = agents.workflow(
        "teller",
        step("plan"),
        step("code", implementation={"inline": {"text": "code {{ parameters.mark }}"}}),
    )
    status = agents.ends(name, "Succeeded")
    assert phases(status) == ["Succeeded", "Succeeded"]
    assert status["outputs"] == {"answer": "code code"}
    plan, code = status["workflow"]["steps"]
    assert plan["outcome"]["outputs"] == {"answer": "say plan"}
    assert plan["finishedAt"] <= code["startedAt"]
    agents.namespace.await_executions(plan=1, code=1)
    assert len(agents.api.all("Job")) == 2
    labels = {item["metadata"]["labels"]["agents.proompteng.ai/step"] for item in agents.api.all("Job")}
    assert labels == {"plan", "code"}


@pytest.mark.rule("DAG-5")
def test_nothing_runs_after_a_step_that_failed(agents):
    """Later steps are Skipped, and the run reports why it failed."""
    agents.agent("bad", "exit 3")
    status = agents.ends(agents.workflow("bad", step("plan"), step("code")), "Failed")
    assert status["reason"] == "NonZeroExit"
    assert phases(status) == ["Failed", "Skipped"]
    agents.namespace.await_executions(plan=1)


@pytest.mark.rule("DAG-9")
def test_a_step_is_retried_after_its_backoff(agents):
    """By a timer; earlier steps do not run again."""
    agents.agent("second-time", LATER % "exit 3")
    name = agents.workflow("second-time", step("try", retries=2, retryBackoffSeconds=1))
    status = agents.ends(name, "Succeeded")
    (tried,) = status["workflow"]["steps"]
    assert tried["attempt"] == 2
    assert [attempt["outcome"]["exitCode"] for attempt in tried["attempts"]] == [3]
    agents.namespace.await_executions(**{"try": 2})


@pytest.mark.rule("DAG-10")
def test_the_time_limit_of_a_step_stops_it(agents):
    """By a timer; the step's result so far is kept."""
    agents.agent("slow", SAY + FOREVER)
    name = agents.workflow("slow", step("hang", timeoutSeconds=2), step("after"))
    status = agents.ends(name, "Failed")
    assert status["reason"] == "StepTimedOut"
    assert phases(status) == ["Failed", "Skipped"]
    assert status["outputs"] == {"said": "hang"}
    agents.namespace.await_executions(hang=1)


def test_a_loop_continues_while_its_condition_is_true(agents):
    """The condition reads the output of each iteration; every iteration has its own Job."""
    agents.agent("better", COUNT_DOWN + ANSWER)
    loop = {"maxIterations": 9, "condition": {"expression": "iteration.last.control.more"}}
    status = agents.ends(agents.workflow("better", step("improve", loop=loop), step("report")), "Succeeded")
    improved = status["workflow"]["steps"][0]["loop"]
    assert (improved["completedIterations"], improved["stopReason"]) == (3, "LoopConditionFalse")
    assert len({iteration["jobRef"]["name"] for iteration in improved["iterations"]}) == 3
    agents.namespace.await_executions(improve=3, report=1)


@pytest.mark.rule("CAN-2", "CAN-4", "CAN-7")
def test_a_cancel_stops_the_running_step_and_keeps_its_output(agents):
    """Its program ends; ended steps stay ended, and later steps never start."""
    agents.agent("busy", SAY + '[ "$MARK" = plan ] && exit 0\n' + FOREVER)
    name = agents.workflow("busy", step("plan"), step("code"), step("test"))
    at_work(agents, name, "code")
    agents.api.merge("AgentRun", name, {"spec": {"cancel": True}})
    status = agents.ends(name, "Cancelled")
    assert phases(status) == ["Succeeded", "Cancelled", "Skipped"]
    assert status["outputs"] == {"said": "code"}
    assert status["outcome"]["outputs"] == {"said": "code"}
    agents.namespace.await_executions(plan=1, code=1)


@pytest.mark.rule("GC-3")
def test_deleting_the_job_of_a_step_fails_the_step(agents):
    """JobDeleted, once its program has ended; it is not retried by default."""
    agents.agent("busy", FOREVER)
    name = agents.workflow("busy", step("plan"), step("code"))
    at_work(agents, name, "plan")
    agents.api.delete("Job", job_of(agents, name, "plan"))
    status = agents.ends(name, "Failed")
    assert status["reason"] == "JobDeleted"
    assert phases(status) == ["Failed", "Skipped"]
    agents.namespace.await_executions(plan=1)


@pytest.mark.rule("GC-3", "DAG-9")
def test_deleting_the_pod_of_a_step_is_an_ordinary_failure(agents):
    """The step is retried if it allows that."""
    agents.agent("second-time", LATER % FOREVER)
    name = agents.workflow("second-time", step("plan", retries=1), step("code", retries=1))
    at_work(agents, name, "plan")
    job = job_of(agents, name, "plan")
    (pod,) = agents.api.all("Pod", **{"batch.kubernetes.io/job-name": job})
    agents.api.delete("Pod", pod["metadata"]["name"])
    agents.namespace.await_(lambda: agents.steps(name)["plan"].get("attempts"), "that the end is recorded")
    (ended,) = agents.steps(name)["plan"]["attempts"]
    assert ended["outcome"]["reason"] == "PodDeleted"
    at_work(agents, name, "code")
    agents.api.delete("Job", job_of(agents, name, "code"))
    agents.ends(name, "Succeeded")
    agents.namespace.await_executions(plan=2, code=2)


@pytest.mark.rule("RUN-3", "CAN-8")
def test_a_workflow_survives_its_controllers(agents):
    """Killed while a step runs and again while the next one runs: each step runs once."""
    agents.agent("waits", "sleep 2")
    name = agents.workflow("waits", step("plan"), step("code"), step("test"))
    for mark in ("plan", "code"):
        agents.namespace.await_(lambda mark=mark: agents.namespace.executions()[mark], f"that {mark} begins")
        agents.namespace.bed.kill_controllers()
        agents.namespace.bed.start_controllers()
    status = agents.ends(name, "Succeeded")
    assert phases(status) == ["Succeeded"] * 3
    agents.namespace.await_executions(plan=1, code=1, test=1)


def test_a_mistake_in_a_workflow_is_reported_with_its_path(agents):
    """And nothing is started."""
    agents.agent("teller", ANSWER)
    status = agents.ends(agents.workflow("teller", step("a"), step("a")), "Failed")
    assert status["reason"] == "InvalidSpec"
    assert "spec.workflow.steps[1].name" in status["message"]
    assert agents.api.all("Job") == []
