"""A Tool that is deleted or changed while its ToolRun runs, in virtual time."""

import asyncio

import pytest

from kubekit.client.api_client import PatchKind
from kubekit.client.builtin import JOBS
from simulation.bed import ENDED, NAMESPACE, TOOL_RUNS, TOOLS, bed
from simulation.simulated_cluster import Work
from support.virtual_time import run_virtual

TOOL = {"image": "none", "command": ["work"], "timeoutSeconds": 20, "ttlSecondsAfterFinished": 77}


async def outlive(meanwhile, *, runs=600, **spec):
    """The end of a ToolRun whose Tool is deleted or changed while it runs, and the TTL of its Job."""
    async with bed(scripts=lambda _name, _before: Work(runs=runs)) as made:
        made.start_controllers()
        tool = await made.create(TOOLS, "short", TOOL | spec)
        await made.create(TOOL_RUNS, "tr", {"toolRef": {"name": "short"}})
        await _until(made, lambda current: current.get("phase") == "Running")
        await meanwhile(made, tool["metadata"]["uid"])
        await _until(made, lambda current: current.get("phase") in ENDED)
        await asyncio.sleep(5)
        status = (await made.client.get(TOOL_RUNS, "tr", NAMESPACE))["status"]
        jobs = await made.client.list(JOBS, NAMESPACE)
        return status, [job["spec"].get("ttlSecondsAfterFinished") for job in jobs]


async def _until(made, holds):
    async with asyncio.timeout(300):
        while True:
            current = (await made.client.get(TOOL_RUNS, "tr", NAMESPACE)).get("status") or {}
            if holds(current):
                return current
            await asyncio.sleep(0.1)


async def _deleted(made, uid):
    await made.client.delete(TOOLS, "short", NAMESPACE, uid=uid)


async def _changed(made, uid):
    body = {"metadata": {"uid": uid}, "spec": {"timeoutSeconds": 500, "ttlSecondsAfterFinished": 5}}
    await made.client.patch(TOOLS, "short", NAMESPACE, body, kind=PatchKind.MERGE)


@pytest.mark.rule("DAG-3", "DAG-10")
@pytest.mark.parametrize("meanwhile", [_deleted, _changed], ids=["deleted", "changed"])
def test_a_run_keeps_the_limits_with_which_it_started(meanwhile):
    """The timeout of the tool and the TTL of its Job are read once per attempt."""
    status, _ = run_virtual(outlive(meanwhile))
    assert (status["phase"], status["reason"]) == ("Failed", "StepTimedOut")
    assert status["job"]["terms"] == {"timeoutSeconds": 20, "ttlSecondsAfterFinished": 77}
    assert status["retention"]["jobTtlSeconds"] == 77
    assert status["retention"]["jobSource"] == "tool.spec.ttlSecondsAfterFinished"


@pytest.mark.rule("DAG-3")
def test_a_changed_timeout_of_a_tool_applies_to_the_next_attempt():
    status, kept = run_virtual(outlive(_changed, timeoutSeconds=None, runs=30))
    assert (status["phase"], status["reason"]) == ("Succeeded", "Succeeded")
    assert kept == [77]
