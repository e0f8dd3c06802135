"""Every example runs unmodified on a laptop, with the outcome in its `expected.toml`."""

import json
import os
import re
import signal
import subprocess

import pytest
import yaml

from e2e.example_ends import (
    AGENTS,
    FAN_OUT,
    OVER,
    SMALL,
    assert_ended_as_expected,
    expected,
    is_to_be_cancelled,
)
from e2e.laptop_process import LaptopProcess
from support.runner_availability import why_no_runner

pytestmark = pytest.mark.xdist_group("examples")

RUN = [folder for folder in SMALL if folder not in AGENTS or why_no_runner() is None]
WHOLE = 1000
STEPS = WHOLE if os.environ.get("JANGAR_EXAMPLES") == "all" else 200
"""A fan-out with a fifth of the steps shows the same; JANGAR_EXAMPLES=all runs the original."""
SECONDS_A_STEP = 1


def statuses(laptop: LaptopProcess) -> dict[str, dict]:
    listed = json.loads(laptop.done("get", "runs", "-o", "json"))["items"]
    return {item["metadata"]["name"]: item.get("status") or {} for item in listed}


def counts_of(laptop: LaptopProcess, run: str) -> dict[str, int]:
    return (laptop.run(run).get("status") or {}).get("counts", {})


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    made = LaptopProcess(tmp_path_factory.mktemp("home"))
    made.start()
    yield made
    made.end()


@pytest.fixture(scope="module")
def ends(laptop):
    """The statuses of all small examples, run together, once all have ended."""
    laptop.done("apply", *(word for folder in RUN for word in ("-f", folder)))
    wanted = [expected(folder) for folder in RUN]

    def all_over():
        now = statuses(laptop)
        for item in wanted:
            if is_to_be_cancelled(item, now[item["run"]]):
                laptop.done("cancel", item["run"])
        return now if all(now[item["run"]].get("phase") in OVER for item in wanted) else None

    return laptop.until(all_over, seconds=120)


@pytest.mark.parametrize("folder", SMALL, ids=lambda folder: folder.name)
def test_an_example_has_its_expected_outcome(ends, folder):
    """Phase, reason, counts and outputs of the run; phase, reason, attempts, outputs and causes of every step."""
    if folder not in RUN:
        pytest.skip(why_no_runner() or "")
    wanted = expected(folder)
    assert_ended_as_expected(wanted, ends[wanted["run"]])


@pytest.mark.rule("DAG-14")
@pytest.mark.rule("RUN-3")
def test_the_fan_out_killed_midway_succeeds_and_each_step_ran_once(laptop, ends):
    """kill -9 of the whole control plane after a tenth of the steps; one ToolRun, one Job and one pod per step."""
    wanted = expected(FAN_OUT)
    made = subprocess.run(
        ["sh", FAN_OUT / "generate.sh", str(STEPS)], capture_output=True, text=True, check=True
    )
    laptop.done("apply", "-f", "-", stdin=made.stdout)
    laptop.done("apply", "-f", FAN_OUT / "run.yaml")
    done = laptop.until(
        lambda: (result := counts_of(laptop, wanted["run"]).get("succeeded", 0)) > STEPS // 10 and result
    )
    laptop.stop(signal.SIGKILL)
    assert done < STEPS, "it was over before it was killed"
    laptop.start()
    status = laptop.until(
        lambda: (result := statuses(laptop)[wanted["run"]]).get("phase") in OVER and result,
        seconds=60 + STEPS * SECONDS_A_STEP,
    )
    assert (status["phase"], status["counts"]["total"]) == (wanted["phase"], STEPS)
    assert (wanted["counts"] | {"succeeded": STEPS}).items() <= status["counts"].items()
    for kind in ("toolruns", "jobs", "pods"):
        names = laptop.done("get", kind, "-o", "name").split()
        assert sum(f"/{wanted['run']}-" in name for name in names) == STEPS, kind


def test_the_fan_out_in_the_folder_is_generated_by_its_script():
    """The 1,000 steps are not edited by hand."""
    made = subprocess.run(["sh", FAN_OUT / "generate.sh"], capture_output=True, text=True, check=True)
    assert (FAN_OUT / "orchestration.yaml").read_text() == made.stdout
    assert expected(FAN_OUT)["counts"]["succeeded"] == WHOLE == made.stdout.count("- {name: ")


@pytest.mark.parametrize("folder", [*SMALL, FAN_OUT], ids=lambda folder: folder.name)
def test_an_example_needs_no_network_and_no_other_image(folder):
    """A cluster that has busybox runs all of them; nothing else is downloaded."""
    objects = [obj for file in folder.glob("*.yaml") for obj in yaml.safe_load_all(file.read_text())]
    tools = [obj["spec"] for obj in objects if obj["kind"] == "Tool"]
    if folder in AGENTS:
        (provider,) = [obj["spec"] for obj in objects if obj["kind"] == "AgentProvider"]
        assert (tools, provider["binary"], provider.get("workload")) == ([], "sh", None)
        assert not re.search(r"\b(wget|curl|nc)\b", provider["inputFiles"][0]["content"])
        return
    assert {tool["image"] for tool in tools} == {"busybox:1.37"}
    assert {tuple(tool["command"][:2]) for tool in tools} == {("sh", "-c")}
    assert not [tool for tool in tools if re.search(r"\b(wget|curl|nc)\b", tool["command"][2])]


@pytest.mark.parametrize("folder", [*SMALL, FAN_OUT], ids=lambda folder: folder.name)
def test_an_example_describes_what_it_shows(folder):
    """Its README names the commands; its manifests contain the tools that it uses."""
    objects = [obj for file in folder.glob("*.yaml") for obj in yaml.safe_load_all(file.read_text())]
    has = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Tool"}
    steps = [step for obj in objects if obj["kind"] == "Orchestration" for step in obj["spec"]["steps"]]
    assert {step["toolRef"]["name"] for step in steps if "toolRef" in step} == has
    assert f"examples/{folder.name}" in (folder / "README.md").read_text()
