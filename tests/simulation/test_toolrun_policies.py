"""One admission for all kinds of runs: the operator's policies apply to ToolRuns too, also to those of steps (E9)."""

import asyncio

import pytest

from jangar.controllers.engine_settings import AdmissionSettings, EngineSettings
from jangar.domain.policies.patterns import parse_pattern
from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Images, Labels, Pods
from kubekit.client.api_client import PatchKind
from simulation.admission_bed import install_kinds
from simulation.bed import HERE, NAMESPACE, RUNS, TOOL_RUNS, bed, step
from simulation.simulated_cluster import Work
from support.virtual_time import run_virtual


def settings(policy):
    admission = AdmissionSettings(namespaces=HERE, policy=policy) if policy.counts_tool_runs else None
    return EngineSettings(orchestrations=HERE, supporting=HERE, policy=policy, admission=admission)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (AdmissionPolicy(images=Images(denied=(parse_pattern("none"),))), "ImageBlocked"),
        (AdmissionPolicy(labels=Labels(required=("team",))), "MissingRequiredLabels"),
        (AdmissionPolicy(pods=Pods(own_service_accounts=frozenset({"default"}))), "ServiceAccountNotAllowed"),
    ],
)
def test_a_denied_tool_run_never_starts(policy, reason):
    """E9: neither one that a user creates nor one of a step."""

    async def simulate():
        async with bed(settings=settings(policy)) as made:
            await made.orchestration("o", [step("a", retries=3)])
            await made.create(TOOL_RUNS, "own", {"toolRef": {"name": "work"}, "parameters": {"work": "own"}})
            await made.start_run()
            made.start_controllers()
            run = await made.ended()
            own = await made.client.get(TOOL_RUNS, "own", NAMESPACE)
            assert run["status"]["stepStatuses"][0]["reason"] == reason
            assert run["status"]["stepStatuses"][0]["attempt"] == 1
            assert (own["status"]["phase"], own["status"]["reason"]) == ("Failed", reason)
            assert made.cluster.starts == {}

    run_virtual(simulate())


def test_a_step_gets_the_labels_that_policy_requires_from_its_run():
    """E9: otherwise no orchestration could run where labels are required."""

    async def simulate():
        policy = AdmissionPolicy(labels=Labels(required=("team",)))
        async with bed(settings=settings(policy)) as made:
            await made.orchestration("o", [step("a")])
            await made.start_run(suspend=True)
            run = await made.run_object()
            body = {"metadata": {"uid": run["metadata"]["uid"], "labels": {"team": "a", "other": "b"}}}
            body["spec"] = {"suspend": False}
            await made.client.patch(RUNS, "run", NAMESPACE, body, kind=PatchKind.MERGE)
            made.start_controllers()
            ended = await made.ended()
            (child,) = made.server.history.all_newest("toolruns")
            assert ended["status"]["phase"] == "Succeeded"
            assert child["metadata"]["labels"]["team"] == "a"
            assert "other" not in child["metadata"]["labels"]

    run_virtual(simulate())


def test_tool_runs_wait_for_each_other_if_limits_count_them():
    """E9: with one slot, three steps and another user's run execute one after another."""

    async def simulate():
        policy = AdmissionPolicy(concurrency=Concurrency(namespace=1), counts_tool_runs=True)
        async with bed(settings=settings(policy), scripts=lambda _name, _before: Work(runs=5.0)) as made:
            await install_kinds(made.client)
            await made.orchestration("o", [step("a"), step("b"), step("c")])
            await made.create(TOOL_RUNS, "own", {"toolRef": {"name": "work"}, "parameters": {"work": "own"}})
            made.start_controllers()
            await made.start_run()
            most = 0
            while (await made.run_object()).get("status", {}).get("phase") != "Succeeded":
                await asyncio.sleep(0.5)
                running = [
                    item
                    for item in made.server.history.all_newest("toolruns")
                    if (item.get("status") or {}).get("phase") == "Running"
                ]
                most = max(most, len(running))
            assert most == 1
            assert made.cluster.starts == {"a": 1, "b": 1, "c": 1, "own": 1}

    run_virtual(simulate())
