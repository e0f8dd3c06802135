"""The real Codex, configured as in the example, on a laptop with a scripted model (A1, A12)."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml

from agent_clis.scripted_model import INPUT_TOKENS, OUTPUT_TOKENS, ScriptedModel
from e2e.laptop_process import LaptopProcess
from support.laptop_users import give_to_plain_user, laptop_users

EXAMPLE = Path(__file__).parents[2] / "examples" / "09-agent-providers" / "codex"
OVER = {"Succeeded", "Failed", "Cancelled"}


@pytest.fixture(scope="module")
def model():
    model = ScriptedModel()
    yield model
    model.close()


@pytest.fixture(scope="module", params=laptop_users())
def laptop(request, model):
    """Installs the example's provider; only the model's address differs."""
    home = Path(tempfile.mkdtemp(prefix="jangar-codex-"))
    if request.param:
        give_to_plain_user(home, request.param)
    laptop = LaptopProcess(home, *request.param)
    laptop.environment["PATH"] = os.environ["JANGAR_AGENT_CLIS"] + os.pathsep + os.environ["PATH"]
    laptop.start()
    provider, *others = yaml.safe_load_all((EXAMPLE / "provider.yaml").read_text())
    arguments = provider["spec"]["argsTemplate"]
    arguments[arguments.index("--") : arguments.index("--")] = ["-c", f'openai_base_url="{model.base_url}"']
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "openai"},
        "stringData": {"api-key": "k"},
    }
    laptop.apply(secret, provider, *others)
    yield laptop
    laptop.end()
    shutil.rmtree(home, ignore_errors=True)


def ended(laptop, name, task=None):
    """Return the status of the ended run of the example, optionally with another task."""
    run = yaml.safe_load((EXAMPLE / "run.yaml").read_text())
    run["metadata"]["name"] = name
    if task is not None:
        run["spec"]["implementation"]["inline"]["text"] = task
    laptop.apply(run)

    def status():
        ended_status = json.loads(laptop.done("get", "agentrun", name, "-o", "json")).get("status") or {}
        return ended_status if ended_status.get("phase") in OVER else None

    return laptop.until(status)


def test_the_example_works_as_documented(laptop):
    """A1: Codex's sandbox starts in a step, and the agent's files are in the workspace."""
    status = ended(laptop, "works")
    runner = status["runner"]
    assert (status["phase"], status["conditions"][0]["message"]) == ("Succeeded", "")
    assert status["outputs"] == {"result": "The report is written."}
    assert [artifact["name"] for artifact in status["artifacts"]] == ["report"]
    assert runner["artifacts"][0]["size"] == len("All is well.\n")
    assert runner["toolCalls"] == {"total": 1, "failed": 0, "denied": 0}
    assert runner["usage"]["inputTokens"] == 2 * INPUT_TOKENS + 100
    assert runner["usage"]["outputTokens"] == 2 * OUTPUT_TOKENS


def test_a_run_whose_every_tool_call_failed_reports_it(laptop):
    """A1: the run succeeds because its exit code is 0, and its status reports the failed calls."""
    status = ended(laptop, "fails", "sh false\nsh exit 3\nsay Well done.")
    assert status["runner"]["toolCalls"] == {"total": 2, "failed": 2, "denied": 0}
    reported = status["conditions"][0]["message"]
    assert reported.startswith("all 2 tool calls failed; artifact report: "), reported


def test_home_is_private_and_outside_the_working_tree(laptop):
    """A12: Codex reads the state of an earlier call of the same run, but of no other run."""
    task = (
        'sh echo "$HOME"; ls -a "$HOME" "$PWD" > report.md; find "$HOME" -name "*.jsonl" | wc -l >> report.md'
    )
    status = ended(laptop, "home", f"{task}\nsh tail -1 report.md | grep -qx 1\nsay Done.")
    assert status["runner"]["toolCalls"] == {"total": 2, "failed": 0, "denied": 0}, status
