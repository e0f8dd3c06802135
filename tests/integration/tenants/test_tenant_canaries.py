"""Tenants with each permission alone and in pairs try to read a Secret that is bound to another Orchestration (E1,
E11).

Each trial is a tenant with a set of permissions, an attack and its variations, drawn from a seed. The test fails if a
Job has the Secret and another task than the trusted one, or if a run adopts a foreign object. `JANGAR_SIMULATION=all`
runs 2,000 trials.
"""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from itertools import combinations
from random import Random

import pytest

from integration.tenants.tenant_world import (
    AGENT_RUNS,
    AGENTS,
    PROVIDERS,
    RIGHTS,
    STOLEN,
    TASK,
    TRUSTED,
    Tenant,
    World,
    agent_run,
    agent_step,
    tenant_world,
)
from jangar.controllers.orchestrationrun.definitions import KEY
from jangar.controllers.orchestrationrun.record import PAGE_ROLE, ROLE
from jangar.controllers.resources import ATTEMPT, LINEAGE, RUN_UID, STEP
from jangar.domain.orchestration.child_names import child_name, owned_name
from jangar.domain.orchestration.snapshot import encode_snapshot, snapshot_hash, snapshot_name
from kubekit.client.builtin import CONFIG_MAPS
from simulation.bed import ORCHESTRATIONS, RUNS, TOOL_RUNS
from simulation.plans import ALL
from support.reliability_page import record_trials
from support.virtual_time import run_virtual

BLOCKS = 4
TRIALS = 2000 if ALL else 208
HELD = [*((right,) for right in RIGHTS), *combinations(RIGHTS, 2)]


def owner_of(run, **more):
    meta = run["metadata"]
    owner = {"apiVersion": RUNS.api_version, "kind": RUNS.kind, "name": meta["name"], "uid": meta["uid"]}
    return {**owner, "controller": True, "blockOwnerDeletion": True, **more}


async def a_run(world: World, name: str, orchestration: str = TRUSTED, **spec):
    """Another user's run, as every reader gets it."""
    await world.bed.start_run(name, orchestration, **spec)
    return await world.bed.run_object(name)


async def by_retry(world: World, tenant: Tenant, rng: Random, name: str) -> None:
    """A run of the tenant's own definition as a retry under the name of the trusted Orchestration."""
    step = agent_step(rng.choice(["ask", "other"]))
    own = {"orchestration": {"steps": [step]}}
    if rng.random() < 0.3:
        await tenant.create(ORCHESTRATIONS, f"{name}-own", {"steps": [step]})
        own = {"orchestrationRef": {"name": f"{name}-own"}}
    first = await tenant.create(RUNS, f"{name}-a", own)
    await asyncio.sleep(rng.choice([0, 3, 20]))
    retry = {"name": f"{name}-a"}
    if first is not None and rng.random() < 0.5:
        retry["uid"] = first["metadata"]["uid"]
    if rng.random() < 0.5:
        retry["fromStep"] = step["name"]
    spec = {"retryOf": retry}
    if rng.random() < 0.8:
        spec["orchestrationRef"] = {"name": TRUSTED}
    second = await tenant.create(RUNS, f"{name}-b", spec)
    if rng.random() < 0.3:
        await tenant.create(RUNS, f"{name}-c", {**spec, "retryOf": {"name": f"{name}-b"}})
    if second is not None:
        await tenant.patch(RUNS, second, {"spec": {"orchestrationRef": {"name": TRUSTED}, "retryOf": None}})


async def by_nesting(world: World, tenant: Tenant, rng: Random, name: str) -> None:
    """A definition that contains the trusted one, or claims to be nested in a trusted run."""
    run = await a_run(world, f"{name}-victim")
    nested = {"name": "n", "kind": "SubOrchestration", "orchestrationRef": {"name": TRUSTED}}
    steps = [nested, agent_step(dependsOn=["n"])] if rng.random() < 0.5 else [agent_step()]
    await tenant.create(
        RUNS,
        f"{name}-a",
        {"orchestration": {"steps": steps}},
        metadata={
            "annotations": {LINEAGE: TRUSTED},
            "labels": {RUN_UID: run["metadata"]["uid"], STEP: "ask", ATTEMPT: "1"},
            **({"ownerReferences": [owner_of(run)]} if rng.random() < 0.7 else {}),
        },
    )


async def by_child(world: World, tenant: Tenant, rng: Random, name: str) -> None:
    """A forged child of a trusted run that waits, runs or has ended; or one that replaces the real child.

    Exact in all that a tenant can know, or with one malformed detail.
    """
    odd = rng.choice(
        ["", "", "", "suspended", "attempt", "label", "owner", "name", "ToolRun", "run", "replace"]
    )
    run = await a_run(world, f"{name}-victim", **({"suspend": True} if odd == "suspended" else {}))
    await asyncio.sleep(rng.choice([0, 0.05, 1, 1, 5, 25]))
    uid = run["metadata"]["uid"]
    step = "ask" if odd == "replace" else rng.choice(["ask", "nothing", "nothing"])
    attempt = rng.choice([2, 7]) if odd == "attempt" else 1
    called = f"{name}-x" if odd == "name" else child_name(run["metadata"]["name"], uid, step, attempt)
    if odd == "replace" and (real := world.bed.server.history.newest("agentruns", called)) is not None:
        await tenant.delete(AGENT_RUNS, real)
    metadata = {
        "labels": {RUN_UID: uid, STEP: step, ATTEMPT: "one" if odd == "label" else str(attempt)},
        "ownerReferences": [owner_of(run, **({"uid": "another"} if odd == "owner" else {}))],
    }
    kind = {"ToolRun": TOOL_RUNS, "run": RUNS}.get(odd, AGENT_RUNS)
    spec = {
        AGENT_RUNS: agent_run(),
        RUNS: {"orchestration": {"steps": [agent_step()]}},
        TOOL_RUNS: {"toolRef": {"name": "work"}, "parameters": {"work": "forged"}},
    }[kind]
    forged = await tenant.create(kind, called, spec, metadata=metadata)
    if forged is not None and kind is AGENT_RUNS:
        await tenant.patch(AGENT_RUNS, forged, {"spec": {"secrets": ["canary"], "suspend": False}})


async def by_steering(world: World, tenant: Tenant, rng: Random, name: str) -> None:
    """The real child of a trusted run, changed before it starts or while it runs."""
    run = await a_run(world, f"{name}-victim")
    called = child_name(run["metadata"]["name"], run["metadata"]["uid"], "ask", 1)
    for _ in range(20):
        await asyncio.sleep(0.05)
        real = world.bed.server.history.newest("agentruns", called)
        if real is not None:
            body = rng.choice(
                [
                    {"spec": {"implementation": {"inline": {"text": STOLEN}}}},
                    {"spec": {"goal": {"objective": STOLEN}, "idempotencyKey": name}},
                    {"metadata": {"labels": {STEP: "other"}}},
                    {"status": {"admission": {"phase": "Admitted"}}},
                ]
            )
            await tenant.patch(AGENT_RUNS, real, body)
            return


async def by_snapshot(world: World, tenant: Tenant, rng: Random, name: str) -> None:
    """A snapshot for a run that waits for its Orchestration, which is bound to the Secret once it exists."""
    run = await a_run(world, f"{name}-victim", f"later-{name}")
    meta = run["metadata"]
    content = {"steps": [agent_step()]}
    trusted = {"steps": [agent_step(task=TASK)]}
    called = rng.choice(
        [
            snapshot_name(meta["name"], meta["uid"], snapshot_hash(trusted)),
            snapshot_name(meta["name"], meta["uid"], snapshot_hash(content)),
            owned_name(meta["name"], meta["uid"], "snapshot"),
            owned_name(meta["name"], meta["uid"], "steps", 0),
        ]
    )
    data = {KEY: base64.b64encode(encode_snapshot(content)).decode()}
    metadata = {
        "labels": {RUN_UID: meta["uid"], **rng.choice([{}, {ROLE: PAGE_ROLE}])},
        **({"ownerReferences": [owner_of(run)]} if rng.random() < 0.7 else {}),
    }
    forged = await tenant.create(
        CONFIG_MAPS, called, binaryData=data, immutable=rng.random() < 0.5, metadata=metadata
    )
    await asyncio.sleep(rng.choice([0, 1]))
    await world.bed.orchestration(f"later-{name}", trusted["steps"])
    if rng.random() < 0.3:
        await asyncio.sleep(rng.choice([0.05, 1]))
        now = await world.bed.run_object(f"{name}-victim")
        real = (now.get("status") or {}).get("snapshotRef") or {}
        if real.get("uid"):
            await tenant.delete(CONFIG_MAPS, {"metadata": {"name": real["name"], "uid": real["uid"]}})
            await tenant.create(CONFIG_MAPS, real["name"], binaryData=data, metadata=metadata)
    if forged is None:
        await tenant.create(ORCHESTRATIONS, TRUSTED, content)


async def by_definitions(world: World, tenant: Tenant, rng: Random, name: str) -> None:
    """The tenant's own Agents and providers that reference the Secret, and runs of them."""
    await tenant.create(
        PROVIDERS,
        f"{name}-p",
        {"binary": "sh", "secretEnv": [{"name": "X", "secretName": "canary", "key": "key"}]},
    )
    await tenant.create(AGENTS, f"{name}-agent", {"providerRef": {"name": f"{name}-p"}})
    named = rng.choice([f"{name}-agent", "coder"])
    await tenant.create(AGENT_RUNS, f"{name}-a", agent_run(agentRef={"name": named}))
    step = agent_step() | {"agentRef": {"name": named}}
    await tenant.create(RUNS, f"{name}-b", {"orchestration": {"steps": [step]}})


Way = Callable[[World, Tenant, Random, str], Awaitable[None]]
WAYS: dict[Way, frozenset[str]] = {
    by_retry: frozenset({"create orchestrationruns"}),
    by_child: frozenset({"create agentruns", "create toolruns", "create orchestrationruns"}),
    by_snapshot: frozenset({"create configmaps"}),
    by_nesting: frozenset({"create orchestrationruns"}),
    by_steering: frozenset({"patch agentruns"}),
    by_definitions: frozenset({"create agents", "create agentproviders", "create agentruns"}),
}
"""The attacks, with the permissions of which a tenant needs at least one."""


def held_by(trial: int) -> tuple[str, ...]:
    """All sets of permissions and all attacks are combined."""
    return HELD[trial % len(HELD)]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_secret_is_read_without_a_binding(block, record_property):
    """E1: only Jobs of the trusted task have the canary, and no object of a tenant is adopted."""
    trials = range(block, TRIALS, BLOCKS)

    async def simulate():
        names = [f"t{trial}" for trial in trials]
        async with tenant_world(
            block, [held_by(trial) for trial in trials], [f"later-{name}" for name in names]
        ) as world:
            world.bed.start_controllers()
            await asyncio.sleep(1)
            await asyncio.gather(
                *(play(world, trial, tenant) for trial, tenant in zip(trials, world.tenants, strict=True))
            )
            await world.bed.start_run("sound", TRUSTED)
            await asyncio.sleep(60)
            sound = await world.bed.run_object("sound")
            return list(world.harm()), sound, world

    harm, sound, world = run_virtual(simulate())
    failures = {line.split(":")[0] for line in harm}
    record_trials(record_property, row="tenants: canaries", bed="S", seeds=trials, failures=len(failures))
    assert harm == []
    # The trial is only meaningful if the trusted task got the Secret, and attacks were tried.
    assert sound["status"]["phase"] == "Succeeded"
    assert world.read_canary() > 0
    assert sum(len(tenant.made) for tenant in world.tenants) > 0
    assert sum(tenant.forbidden for tenant in world.tenants) > 0


async def play(world: World, trial: int, tenant: Tenant) -> None:
    rng = Random(f"tenant {trial}")  # noqa: S311 - a trial repeats
    promising = [way for way, needed in WAYS.items() if needed & {*held_by(trial)}]
    # Most tenants use their permissions; some try what is forbidden.
    way = rng.choice(promising if promising and rng.random() < 0.8 else list(WAYS))
    await asyncio.sleep(rng.random() * 5)
    await way(world, tenant, rng, f"t{trial}")
