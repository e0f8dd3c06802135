"""Logs of an agent with several steps on a laptop, from every source, after its pods and the run are gone."""

import json

import pytest

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess, run
from support.runner_availability import why_no_runner

pytestmark = [
    pytest.mark.xdist_group("laptop"),
    pytest.mark.skipif(why_no_runner() is not None, reason=str(why_no_runner())),
]

AGENTS = "agents.proompteng.ai/v1alpha1"
REPORTED = ["==> step plan, attempt 1 <==", "say plan", "==> step code, attempt 1 <==", "say code"]


def named(kind, name, spec):
    return {"apiVersion": AGENTS, "kind": kind, "metadata": {"name": name}, "spec": spec}


def work():
    """A step of an orchestration whose agent has two steps of its own."""
    steps = [
        {"name": item, "implementation": {"inline": {"text": f"say {item}"}}} for item in ("plan", "code")
    ]
    return {
        "name": "work",
        "kind": "AgentRun",
        "agentRef": {"name": "teller"},
        "implementation": {"inline": {"text": "nothing"}},
        "runtime": {"type": "workflow"},
        "workflow": {"steps": steps},
    }


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    process = LaptopProcess(tmp_path_factory.mktemp("logs"))
    process.start()
    provider = {
        "binary": "sh",
        "argsTemplate": ["-c", 'echo "$TASK"'],
        "envTemplate": {"TASK": "{{ implementation.text }}"},
    }
    process.apply(
        named("AgentProvider", "sh", provider), named("Agent", "teller", {"providerRef": {"name": "sh"}})
    )
    yield process
    process.end()


def agent_lines(lines):
    """Without the runner's own lines."""
    return [line for line in lines if line.startswith(("==> ", "say "))]


@pytest.mark.rule("GC-6")
def test_every_interface_reads_the_logs_of_all_steps_of_an_agent(laptop):
    """The commands and the HTTP API, from pods, from files and from history."""
    laptop.apply(run("told", work()))
    laptop.until(lambda: laptop.phase("told") == "Succeeded")
    shown = agent_lines(laptop.done("logs", "told", "work").splitlines())
    assert (shown[:2], shown[-1]) == (REPORTED[:2], REPORTED[-1])
    laptop.until(
        lambda: len(list((laptop.data / "log-tails" / "default").glob("*/*.log"))) == len(REPORTED) // 2
    )
    for kind in ("jobs", "pods"):
        for item in json.loads(laptop.done("get", kind, "-o", "json"))["items"]:
            laptop.jangar("delete", kind, item["metadata"]["name"], "--wait")
    assert agent_lines(laptop.done("logs", "told", "work").splitlines()) == REPORTED
    http = LaptopClient(laptop)
    route = "/v1/namespaces/default/runs/told/logs?step=work"
    assert agent_lines(http.get(route)["lines"]) == REPORTED
    laptop.done("delete", "run", "told", "--wait")
    for path in (laptop.data / "log-tails").rglob("*.log"):
        path.unlink()
    assert agent_lines(http.get(route)["lines"]) == REPORTED
    past = laptop.done("history", "told").splitlines()
    assert agent_lines(item.strip() for item in past) == REPORTED
