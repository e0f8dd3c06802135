"""The example providers as AgentRuns on a laptop: their unmodified manifests, with stand-ins for programs that need a
key.
"""

import json
import os
from pathlib import Path

import pytest

from e2e.laptop_process import LaptopProcess
from support.runner_availability import why_no_runner

EXAMPLES = Path(__file__).parents[2] / "examples" / "09-agent-providers"
OVER = {"Succeeded", "Failed", "Cancelled"}

pytestmark = [
    pytest.mark.xdist_group("examples"),
    pytest.mark.skipif(why_no_runner() is not None, reason=str(why_no_runner())),
]


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    laptop = LaptopProcess(home)
    laptop.environment["PATH"] = f"{EXAMPLES / 'stand-ins'}{os.pathsep}{os.environ['PATH']}"
    laptop.start()
    yield laptop
    laptop.stop()


def ended(laptop, name):
    def status():
        run = json.loads(laptop.done("get", "agentrun", name, "-o", "json"))
        return run["status"] if (run.get("status") or {}).get("phase") in OVER else None

    return laptop.until(status)


@pytest.mark.parametrize(
    ("folder", "outputs", "counted"),
    [
        pytest.param("claude-code", "result", {"inputTokens", "outputTokens", "costUsd"}, id="claude-code"),
        pytest.param("codex", "result", {"inputTokens", "outputTokens"}, id="codex"),
        pytest.param("command", "words", set(), id="command"),
    ],
)
def test_an_example_provider_runs_unmodified(laptop, folder, outputs, counted):
    """It is admitted, succeeds, returns a result, reports its usage and writes the requested report."""
    laptop.done("apply", "-f", EXAMPLES / folder)
    status = ended(laptop, "claude-1" if folder == "claude-code" else f"{folder}-1")
    assert status["phase"] == "Succeeded", status
    assert outputs in status["outputs"]
    assert counted <= set(status["runner"].get("usage") or {})
    assert [artifact["name"] for artifact in status["artifacts"]] == ["report"]


def test_the_program_of_a_cancelled_example_provider_ends(laptop):
    """It ends on the signal, like the program for which it stands in."""
    laptop.done("apply", "-f", EXAMPLES / "codex")
    run = {
        "apiVersion": "agents.proompteng.ai/v1alpha1",
        "kind": "AgentRun",
        "metadata": {"name": "waits"},
        "spec": {
            "agentRef": {"name": "codex"},
            "runtime": {"type": "job"},
            "implementation": {"inline": {"text": 'output {"half": "done"}\nwait'}},
        },
    }
    laptop.apply(run)

    def running():
        pods = json.loads(laptop.done("get", "pods", "-o", "json"))["items"]
        mine = [pod for pod in pods if pod["metadata"]["name"].startswith("waits-")]
        return mine and mine[0]["status"]["phase"] == "Running"

    laptop.until(running)
    laptop.apply({**run, "spec": {**run["spec"], "cancel": True}})
    status = ended(laptop, "waits")
    assert (status["phase"], status["reason"]) == ("Cancelled", "Cancelled")
