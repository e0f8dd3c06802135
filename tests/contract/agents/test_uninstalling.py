"""Uninstalling during work: the controllers are gone, and nothing stays stuck."""

import subprocess

import pytest

from contract.agents.fresh_namespace import fresh_namespace
from contract.engine.engine_beds import JANGAR, LaptopBed
from contract.engine.engine_namespace import FOREVER, IMAGE, step
from support.runner_availability import why_no_runner

HELD = ("OrchestrationRun", "ToolRun", "AgentRun", "Job", "Pod")


@pytest.fixture
def namespace():
    if (obstacle := why_no_runner()) is not None:
        pytest.skip(obstacle)
    bed = LaptopBed()
    bed.start()
    with fresh_namespace(bed) as made:
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
def test_a_namespace_with_live_work_is_deleted_once_our_finalizers_are_removed(namespace):
    """Runs, children, Jobs and pods have our finalizers; after the command the namespace is deleted without
    controllers.
    """
    api = namespace.api
    namespace.tool("forever", FOREVER)
    provider = {"binary": "sh", "argsTemplate": ["-c", FOREVER], "workload": {"image": IMAGE}}
    api.create("AgentProvider", "busy", provider)
    api.create("Agent", "busy", {"providerRef": {"name": "busy"}})
    task = {"implementation": {"inline": {"text": "work"}}, "runtime": {"type": "job"}}
    api.create("AgentRun", "agent", {"agentRef": {"name": "busy"}, **task})
    namespace.orchestration("o", [step("one", "forever")])
    namespace.run("o", "run")
    namespace.await_(lambda: held(api) == set(HELD), "that everything has its finalizers", seconds=60)
    namespace.bed.kill_controllers()
    command = [JANGAR, "release-finalizers", "-n", api.namespace]
    command += ["--kubeconfig", namespace.bed.server.kubeconfig]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert held(api) == set()
    api.delete("Namespace", api.namespace)
    namespace.await_(
        lambda: api.find("Namespace", api.namespace) is None, "that the namespace is deleted", seconds=60
    )
