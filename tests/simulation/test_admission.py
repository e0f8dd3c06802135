"""A thousand AgentRuns with limits of 5 per namespace, 3 per Agent and 10 in total, while the admission process
crashes.

A sample of them unless JANGAR_SIMULATION is all.
"""

import asyncio
import contextlib
from datetime import timedelta
from random import Random

import pytest

from jangar.api.agents.agent import AGENT
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Queue, Rate
from simulation.admission_bed import admission_bed, violations
from simulation.faults import Death, Faults
from simulation.plans import ALL, undisturbed
from support.reliability_page import record_trials

TEAMS = ("team-a", "team-b", "team-c", "team-d")
AGENTS = ("coder", "reviewer", "tester")
POLICY = AdmissionPolicy(
    concurrency=Concurrency(namespace=5, agent=3, cluster=10),
    queue=Queue(namespace=200, repo=50, cluster=500),
    rate=Rate(window=timedelta(seconds=60), namespace=0, repo=0, cluster=300),
)
RUNS = 1000 if ALL else 250
SEEDS = range(5 if ALL else 1)


async def _agents(bed):
    for team in TEAMS:
        await bed.create(AGENT_PROVIDER, "any", team, {"binary": "true"})
        for name in AGENTS:
            await bed.create(AGENT, name, team, {"providerRef": {"name": "any"}})


def _lives(rng, count):
    """Crashes during and between writes, on a connection with losses and delays."""
    deaths = list(Death)
    for _ in range(count):
        yield Faults(
            die_at=(rng.randint(1, 250), rng.choice(deaths)),
            die_after=rng.uniform(5, 60),
            lost_answers=rng.choice((0.0, 0.03)),
            lost_requests=rng.choice((0.0, 0.02)),
            conflicts=rng.choice((0.0, 0.05)),
            lag=rng.choice((0.0, 0.5)),
            cut_watches=rng.choice((0.0, 0.01)),
        )


async def _thousand(seed):
    rng = Random(f"admission {seed}")  # noqa: S311
    takes = {f"run-{number:04}": rng.uniform(0.2, 4.0) for number in range(RUNS)}
    async with admission_bed(seed, POLICY, TEAMS, lambda name: takes[name]) as bed:
        await _agents(bed)
        deciding = asyncio.create_task(bed.live(list(_lives(rng, 12))))
        for name in takes:
            # Half of them are in one namespace: the others must not wait behind it.
            team = TEAMS[0] if rng.random() < 0.5 else rng.choice(TEAMS)
            await bed.start(name, team, rng.choice(AGENTS))
            if rng.random() < 0.02:
                await asyncio.sleep(rng.uniform(0.0, 2.0))
        # 1,000 runs of 2.1 s, at most 10 at once, half of them 5 at once: 210 s, plus crashes and losses.
        await bed.ended(seconds=900)
        deciding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await deciding
        history = bed.server.history
        runs = history.all_newest("agentruns")
        writes = sum(len(life.wire.writes) for life in bed.lives)
        return violations(history.versions, POLICY), runs, len(bed.lives), writes


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("seed", SEEDS)
def test_limits_hold_at_every_commit_and_every_run_is_admitted(seed, record_property):
    """However often the admission process crashes, no limit is violated, no admission is revoked, and all runs end."""
    broken, runs, lives, writes = undisturbed(_thousand(seed))
    record_property("writes", writes)
    record_trials(
        record_property,
        row=f"admission: {RUNS:,} AgentRuns against limits 5/3/10, the deciding process killed",
        bed="S",
        seeds=[seed],
        failures=bool(broken),
    )
    assert broken == []
    assert len(runs) == RUNS
    assert {run["status"]["phase"] for run in runs} == {"Succeeded"}
    assert lives > 3
