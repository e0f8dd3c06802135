"""Every command shows why work failed or waits (AGENT-3, GATE-1)."""

import pytest
import yaml

from e2e.laptop_process import LaptopProcess, tool

pytestmark = pytest.mark.xdist_group("laptop")

GROUP = "orchestration.proompteng.ai/v1alpha1"


def a_run(name, *steps):
    return {
        "apiVersion": GROUP,
        "kind": "OrchestrationRun",
        "metadata": {"name": name},
        "spec": {"orchestration": {"steps": list(steps)}},
    }


def a_step(name, target, **fields):
    return {"name": name, "kind": "ToolRun", "toolRef": {"name": target}, "dependsOn": [], **fields}


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    made = LaptopProcess(tmp_path_factory.mktemp("home"))
    made.start()
    gone = tool("gone", "true")
    gone["spec"]["command"] = ["no-such-binary"]
    stranger = tool("stranger", "true")
    stranger["spec"]["serviceAccount"] = "nobody-made-it"
    made.apply(
        gone,
        stranger,
        tool("complains", "echo 'cannot open /no/file' >&2; exit 3"),
        a_run("failing", a_step("start", "gone"), a_step("complain", "complains")),
        a_run("waiting", a_step("a", "stranger")),
    )
    yield made
    made.end()


@pytest.mark.rule("AGENT-3")
def test_causes_of_failed_steps_are_reported(laptop):
    """B5, E12: by explain and describe, with the log tail of the program."""
    laptop.until(lambda: laptop.run("failing")["status"]["phase"] == "Failed")
    missing = "no-such-binary"
    assert missing in laptop.done("explain", "failing", "start")
    output = laptop.done("describe", "failing")
    assert f'could not start: exec: "{missing}"' in " ".join(output.split())
    assert "Last log lines of complain:" in output
    assert "  | cannot open /no/file" in output


@pytest.mark.rule("AGENT-3")
def test_a_pod_that_cannot_be_created_is_reported(laptop):
    """E12: a missing service account, by explain and doctor; the run continues once it exists."""
    laptop.until(lambda: "nobody-made-it" in laptop.jangar("explain", "waiting", "a").stdout)
    assert "FailedCreate" in laptop.done("explain", "waiting", "a")
    doctor = laptop.jangar("doctor")
    assert doctor.returncode == 1
    assert "OrchestrationRun default/waiting, step a" in doctor.stdout
    assert "nobody-made-it" in doctor.stdout


@pytest.mark.rule("GATE-1")
def test_lint_rejects_features_that_are_not_built(laptop):
    """B1: with an exit code that stops a pipeline."""
    gate = {"name": "gate", "kind": "ApprovalGate", "policyRef": "p"}
    (laptop.home / "gated.yaml").write_text(yaml.safe_dump(a_run("gated", gate)))
    ran = laptop.jangar("lint", "gated.yaml")
    assert ran.returncode == 1
    assert "ApprovalGate is not built yet" in ran.stdout
