"""Logs of an agent's Jobs after their pods are gone: every step, attempt and iteration."""

import pytest

from contract.engine.test_engine_agent_workflows import LATER, step
from jangar.controllers.kept_logs import KeptLogs

GREET = 'echo "$MARK $ITERATION says hello"\n'


def kept(agents, name):
    """Read as every client reads it."""
    uid = agents.api.get("AgentRun", name)["metadata"]["uid"]
    files = KeptLogs(agents.namespace.bed.directory / "controllers" / "log-tails")
    return (files.read(agents.api.namespace, uid) or b"").decode().splitlines()


def without_pods(agents):
    """Wait until the pods of ended Jobs are gone, as after their TTL."""
    for job in agents.api.all("Job"):
        agents.api.delete("Job", job["metadata"]["name"])
    for pod in agents.api.all("Pod"):
        agents.api.delete("Pod", pod["metadata"]["name"])
    agents.namespace.await_(lambda: not agents.api.all("Pod"), "that all pods are gone")


def titles(lines):
    return [line for line in lines if line.startswith("==> ")]


@pytest.mark.rule("GC-6")
def test_the_log_of_an_earlier_step_is_available_after_its_pod_is_gone(agents):
    """Also of a failed attempt and of an earlier iteration."""
    agents.agent("teller", GREET + '[ "$MARK" = plan ] && ' + LATER.replace("\n", "") % "exit 3" + "\ntrue")
    loop = {"maxIterations": 2}
    name = agents.workflow("teller", step("plan", retries=1), step("improve", loop=loop), step("report"))
    agents.ends(name, "Succeeded")
    agents.namespace.await_(
        lambda: any("report 1 says" in item for item in kept(agents, name)), "the last log"
    )
    without_pods(agents)
    lines = kept(agents, name)
    assert titles(lines) == [
        "==> step plan, attempt 1 <==",
        "==> step plan, attempt 2 <==",
        "==> step improve, iteration 1, attempt 1 <==",
        "==> step improve, iteration 2, attempt 1 <==",
        "==> step report, attempt 1 <==",
    ]
    greetings = [line for line in lines if "says hello" in line]
    assert [item.split(" says")[0] for item in greetings] == [
        "plan 1",
        "plan 1",
        "improve 1",
        "improve 2",
        "report 1",
    ]


@pytest.mark.rule("GC-6", "RUN-3")
def test_no_log_is_lost_or_duplicated_when_controllers_are_killed(agents):
    """At any moment between the end of a step and the start of the next."""
    agents.agent("teller", GREET + "sleep 0.5")
    name = agents.workflow("teller", step("one"), step("two"), step("three"))
    for mark in ("one", "two", "three"):
        agents.namespace.await_(lambda mark=mark: agents.namespace.executions()[mark], f"that {mark} begins")
        agents.namespace.bed.kill_controllers()
        agents.namespace.bed.start_controllers()
    agents.ends(name, "Succeeded")
    agents.namespace.await_(
        lambda: any("three 1 says" in item for item in kept(agents, name)), "the last log"
    )
    assert titles(kept(agents, name)) == [
        f"==> step {item}, attempt 1 <==" for item in ("one", "two", "three")
    ]
