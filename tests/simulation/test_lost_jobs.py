"""Jobs that are removed with their finalizer while a ToolRun uses them, in virtual time."""

import asyncio
import contextlib

import pytest

from kubekit.client.api_client import PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import NotFound
from simulation.bed import ENDED, NAMESPACE, TOOL_RUNS, bed
from simulation.faults import Death, Faults
from simulation.simulated_cluster import Work
from support.virtual_time import run_virtual


async def until(look, holds):
    async with asyncio.timeout(120):
        while True:
            status_now = await look()
            if holds(status_now):
                return status_now
            await asyncio.sleep(0.05)


async def lose_the_job(policy):
    """The end of a ToolRun whose first Job was removed while it ran, the number of starts, and the remaining
    finalizers.
    """
    async with bed(scripts=lambda _name, _before: Work(runs=5.0)) as made:
        made.start_controllers()
        spec = {"toolRef": {"name": "work"}, "parameters": {"work": "w"}, "onJobMissing": policy}
        await made.create(TOOL_RUNS, "tr", spec)

        async def status():
            return (await made.client.get(TOOL_RUNS, "tr", NAMESPACE)).get("status") or {}

        first = await until(status, lambda status_now: status_now.get("phase") == "Running")
        name, uid = first["job"]["name"], first["job"]["uid"]
        nothing_held = {"metadata": {"uid": uid, "finalizers": None}}
        await made.client.patch(JOBS, name, NAMESPACE, nothing_held, kind=PatchKind.MERGE)
        await made.client.delete(JOBS, name, NAMESPACE, uid=uid)
        end = await until(status, lambda status_now: status_now.get("phase") in ENDED)
        await asyncio.sleep(60)
        pods = await made.client.list(PODS, NAMESPACE)
        held = [pod["metadata"]["name"] for pod in pods if pod["metadata"].get("deletionTimestamp")]
        return end, made.cluster.starts["w"], held


@pytest.mark.rule("GC-2", "GC-3")
def test_a_removed_job_ends_its_work_once():
    """By default nothing is retried, and no finalizer remains."""
    end, starts, held = run_virtual(lose_the_job("Fail"))
    assert (end["phase"], end["reason"]) == ("Failed", "WorkflowJobMissing")
    assert (starts, held) == (1, [])


@pytest.mark.rule("GC-2", "DAG-9")
def test_a_removed_job_is_retried_if_configured():
    """After the pod of the first has ended and was released."""
    end, starts, held = run_virtual(lose_the_job("Retry"))
    assert (end["phase"], [attempt["attempt"] for attempt in end["attempts"]]) == ("Succeeded", [1])
    assert (starts, held) == (2, [])


SPEC = {"toolRef": {"name": "work"}, "parameters": {"work": "w"}}


async def the_create():
    """The write of a ToolRun's life that creates its Job, counted from 1."""
    async with bed() as made:
        life = made.start_controllers()
        await made.create(TOOL_RUNS, "tr", SPEC)
        await asyncio.sleep(5)
        return 1 + next(n for n, item in enumerate(life.wire.writes) if item.endswith("/jobs"))


async def lose_the_answer(*, policy="Fail", forgotten=False, death=Death.AFTER_COMMIT):
    """The controllers crash during the create, the Job and its pod are removed, and the controllers restart."""
    dies = Faults(die_at=(await the_create(), death))
    async with bed(scripts=lambda _name, _before: Work(runs=5.0)) as made:
        made.start_controllers(dies)
        await made.create(TOOL_RUNS, "tr", {**SPEC, "onJobMissing": policy})
        await made.dead()
        await asyncio.sleep(2)
        for resource in (JOBS, PODS):
            for item in await made.client.list(resource, NAMESPACE):
                await tear_away(made, resource, item["metadata"])
        if forgotten:
            await made.server.forget_past()
        made.start_controllers()

        async def status():
            return (await made.client.get(TOOL_RUNS, "tr", NAMESPACE)).get("status") or {}

        end = await until(status, lambda status_now: status_now.get("phase") in ENDED)
        return (end["phase"], end["reason"]), made.cluster.starts["w"]


async def tear_away(made, resource, meta):
    nothing_held = {"metadata": {"uid": meta["uid"], "finalizers": None}}
    await made.client.patch(resource, meta["name"], NAMESPACE, nothing_held, kind=PatchKind.MERGE)
    with contextlib.suppress(NotFound):
        await made.client.delete(resource, meta["name"], NAMESPACE, uid=meta["uid"], grace_seconds=0)


@pytest.mark.rule("GC-2")
def test_a_committed_create_without_a_response_is_found_in_the_history():
    """There is no other trace: the Job and its pod were removed before they were observed."""
    assert run_virtual(lose_the_answer()) == (("Failed", "WorkflowJobMissing"), 1)


@pytest.mark.rule("GC-2")
def test_a_committed_create_without_a_response_is_retried_if_configured():
    assert run_virtual(lose_the_answer(policy="Retry")) == (("Succeeded", "Succeeded"), 2)


@pytest.mark.rule("GC-2", "DAG-12")
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_create_that_was_never_sent_is_sent_again(forgotten):
    """The history has no record of it; a compacted one has none, either."""
    status_now = run_virtual(lose_the_answer(death=Death.BEFORE_SEND, forgotten=forgotten))
    assert status_now == (("Succeeded", "Succeeded"), 1)


def test_a_removed_job_without_any_record_runs_again():
    """The known window: docs/reliability.md describes it."""
    assert run_virtual(lose_the_answer(forgotten=True)) == (("Succeeded", "Succeeded"), 2)
