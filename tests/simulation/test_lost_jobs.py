"""Jobs that are torn away from under a ToolRun, finalizer and all, in virtual time."""

import asyncio

import pytest

from jangar.kube.builtin import JOBS, PODS
from jangar.kube.client import PatchKind
from simulation.bed import ENDED, NAMESPACE, TOOL_RUNS, bed
from simulation.simulated_cluster import Work
from support.virtual_time import run_virtual


async def until(look, holds):
    async with asyncio.timeout(120):
        while True:
            found = await look()
            if holds(found):
                return found
            await asyncio.sleep(0.05)


async def lose_the_job(policy):
    """The end of a ToolRun whose first Job was removed while it ran, the number of starts, and what is still held."""
    async with bed(scripts=lambda _name, _before: Work(runs=5.0)) as made:
        made.start_controllers()
        spec = {"toolRef": {"name": "work"}, "parameters": {"work": "w"}, "onJobMissing": policy}
        await made.create(TOOL_RUNS, "tr", spec)

        async def status():
            return (await made.client.get(TOOL_RUNS, "tr", NAMESPACE)).get("status") or {}

        first = await until(status, lambda found: found.get("phase") == "Running")
        name, uid = first["job"]["name"], first["job"]["uid"]
        nothing_held = {"metadata": {"uid": uid, "finalizers": None}}
        await made.client.patch(JOBS, name, NAMESPACE, nothing_held, kind=PatchKind.MERGE)
        await made.client.delete(JOBS, name, NAMESPACE, uid=uid)
        end = await until(status, lambda found: found.get("phase") in ENDED)
        await asyncio.sleep(60)
        pods = await made.client.list(PODS, NAMESPACE)
        held = [pod["metadata"]["name"] for pod in pods if pod["metadata"].get("deletionTimestamp")]
        return end, made.cluster.starts["w"], held


@pytest.mark.rule("GC-2", "GC-3")
def test_a_job_that_is_torn_away_ends_its_work_once():
    """By default nothing is tried again, and nothing stays held."""
    end, starts, held = run_virtual(lose_the_job("Fail"))
    assert (end["phase"], end["reason"]) == ("Failed", "WorkflowJobMissing")
    assert (starts, held) == (1, [])


@pytest.mark.rule("GC-2", "DAG-9")
def test_a_job_that_is_torn_away_is_tried_again_where_that_is_asked_for():
    """After the pod of the first has ended and was let go."""
    end, starts, held = run_virtual(lose_the_job("Retry"))
    assert (end["phase"], [each["attempt"] for each in end["attempts"]]) == ("Succeeded", [1])
    assert (starts, held) == (2, [])
