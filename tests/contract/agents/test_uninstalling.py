"""Uninstalling during work: the controllers are gone, and nothing stays stuck."""

import subprocess

import pytest

from contract.agents.fresh_place import fresh_place
from contract.engine.engine_beds import JANGAR, LaptopBed
from contract.engine.engine_place import FOREVER, IMAGE, step
from support.runner_at_hand import why_no_runner

HELD = ("OrchestrationRun", "ToolRun", "AgentRun", "Job", "Pod")


@pytest.fixture
def place():
    if (obstacle := why_no_runner()) is not None:
        pytest.skip(obstacle)
    bed = LaptopBed()
    bed.start()
    with fresh_place(bed) as made:
        yield made
    bed.stop()


def held(api):
    return {
        kind
        for kind in HELD
        for item in api.all(kind)
        if any("jangar.proompteng.ai" in name for name in item["metadata"].get("finalizers") or ())
    }


@pytest.mark.rule("GC-7")
def test_a_namespace_with_live_work_is_deleted_once_our_finalizers_are_removed(place):
    """Runs, children, Jobs and pods have our finalizers; after the command the namespace is deleted without
    controllers.
    """
    api = place.api
    place.tool("forever", FOREVER)
    provider = {"binary": "sh", "argsTemplate": ["-c", FOREVER], "workload": {"image": IMAGE}}
    api.create("AgentProvider", "busy", provider)
    api.create("Agent", "busy", {"providerRef": {"name": "busy"}})
    task = {"implementation": {"inline": {"text": "work"}}, "runtime": {"type": "job"}}
    api.create("AgentRun", "agent", {"agentRef": {"name": "busy"}, **task})
    place.orchestration("o", [step("one", "forever")])
    place.run("o", "run")
    place.await_(lambda: held(api) == set(HELD), "that everything is held", seconds=60)
    place.bed.kill_controllers()
    command = [JANGAR, "release-finalizers", "-n", api.namespace]
    command += ["--kubeconfig", place.bed.server.kubeconfig]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert held(api) == set()
    api.delete("Namespace", api.namespace)
    place.await_(lambda: api.find("Namespace", api.namespace) is None, "that the namespace goes", seconds=60)
