"""Two versions of the controllers side by side: each keeps the other's status fields."""

import asyncio

import pytest

from kubekit.client.api_client import PatchKind
from simulation.bed import NAMESPACE, RUNS, TOOL_RUNS, bed, step
from simulation.plans import undisturbed
from simulation.simulated_cluster import Work
from simulation.simulated_server import DEFINITIONS

FUTURE = {"score": 7, "notes": ["kept"]}
INSIDE = {RUNS: ("counts", "stepStatuses"), TOOL_RUNS: ("job", "conditions")}
"""For each kind an object and a list of objects that this version writes and a newer one extends."""
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


async def _know_the_future(made):
    """Install the CRDs of a newer version before its controllers."""
    for resource in (RUNS, TOOL_RUNS):
        crd = await made.client.get(DEFINITIONS, f"{resource.plural}.{resource.group}")
        for version in crd["spec"]["versions"]:
            status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
            single, listed = (status[name] for name in INSIDE[resource])
            for properties in (status, single["properties"], listed["items"]["properties"]):
                properties["future"] = ANYTHING
        await made.client.update(DEFINITIONS, crd)
    await asyncio.sleep(1)


async def _write_the_future(made, resource, name):
    """Write status fields as the controllers of a newer version do."""
    obj = await made.client.get(resource, name, NAMESPACE)
    single, listed = INSIDE[resource]
    status = {
        "future": FUTURE,
        single: {"future": FUTURE},
        listed: [item | {"future": FUTURE} for item in obj["status"][listed]],
    }
    body = {"metadata": {"uid": obj["metadata"]["uid"]}, "status": status}
    await made.client.patch(resource, name, NAMESPACE, body, kind=PatchKind.MERGE, subresource="status")


def _future_of(obj, resource):
    """All fields that the other version wrote."""
    single, listed = (obj["status"][name] for name in INSIDE[resource])
    return [item["future"] for item in (obj["status"], single, *listed)]


@pytest.mark.rule("ST-1", "CHART-4")
@pytest.mark.parametrize("shards", [1, 12])
def test_fields_of_another_version_survive_every_write_of_this_one(shards):
    """Written during a run, alternating with ours, across a handover: they exist when the run has ended."""

    async def story():
        async with bed(1, scripts=lambda *_: Work(runs=20.0)) as made:
            await _know_the_future(made)
            await made.orchestration("o", [step("a"), step("b", "a")])
            made.start_controllers(candidate="one", shards=shards)
            await made.start_run()
            await made.until(lambda run: (run.get("status") or {}).get("phase") == "Running")
            await _write_the_future(made, RUNS, "run")
            (child,) = await made.client.list(TOOL_RUNS, NAMESPACE)
            await _write_the_future(made, TOOL_RUNS, child["metadata"]["name"])
            made.start_controllers(candidate="two", shards=shards)
            run = await made.ended()
            ended = await made.client.get(TOOL_RUNS, child["metadata"]["name"], NAMESPACE)
            for obj, resource in ((run, RUNS), (ended, TOOL_RUNS)):
                assert obj["status"]["phase"] == "Succeeded"
                assert all(item == FUTURE for item in _future_of(obj, resource))

    undisturbed(story())
