"""The admission pass on a server: its writes, its decisions, and its reads before a decision."""

import asyncio
from collections import Counter

import pytest

from jangar.api.agents.agent import AGENT
from jangar.api.agents.provider import AGENT_PROVIDER
from jangar.api.security import SECRET_BINDING
from jangar.domain.policies.policy import AdmissionPolicy, Concurrency
from simulation.admission_bed import AGENTRUNS, admission_bed, violations
from simulation.faults import Faults
from simulation.plans import undisturbed

TEAMS = ("team-a", "team-b")
ONE = AdmissionPolicy(concurrency=Concurrency(namespace=1, agent=1, cluster=1))
WIDE = AdmissionPolicy()
HOUR = 3600.0


async def _agent(bed, namespace="team-a", **spec):
    await bed.create(AGENT_PROVIDER, "any", namespace, {"binary": "true"})
    await bed.create(AGENT, "coder", namespace, {"providerRef": {"name": "any"}, **spec})


def test_an_idle_queue_costs_no_write():
    """For an hour; and the next in line starts when the one before it has ended."""

    async def story():
        async with admission_bed(1, ONE, TEAMS, lambda _: HOUR) as bed:
            await _agent(bed)
            life = bed.begin()
            for number in range(40):
                await bed.start(f"r{number:02}", "team-a")
            await asyncio.sleep(60)
            before = len(life.wire.writes)
            await asyncio.sleep(HOUR - 300)
            assert len(life.wire.writes) == before
            phases = Counter(bed.admission(f"r{number:02}").get("phase") for number in range(40))
            assert phases == {"Admitted": 1, "Held": 39}
            assert bed.admission("r01")["position"] == 1
            assert bed.admission("r39")["position"] == 50
            await asyncio.sleep(600)
            assert bed.admission("r01")["phase"] == "Admitted"
            # The one that starts, and those at positions 1, 2, 5, 10 and 20.
            assert len(life.wire.writes) - before == 6

    undisturbed(story())


@pytest.mark.rule("CAN-8", "DAG-15")
def test_a_blocked_run_that_is_cancelled_deleted_or_suspended_is_skipped():
    """It takes no slot from others and is not admitted."""

    async def story():
        async with admission_bed(2, ONE, TEAMS, lambda _: 20.0) as bed:
            await _agent(bed)
            bed.begin()
            for name in ("first", "cancelled", "deleted", "suspended", "last"):
                await bed.start(name, "team-a")
                await asyncio.sleep(1)
            await bed.change("cancelled", "team-a", {"cancel": True})
            await bed.change("suspended", "team-a", {"suspend": True})
            run = await bed.client.get(AGENTRUNS, "deleted", "team-a")
            await bed.client.delete(AGENTRUNS, "deleted", "team-a", uid=run["metadata"]["uid"])
            await asyncio.sleep(30)
            assert bed.admission("last")["phase"] == "Admitted"
            assert bed.admission("cancelled")["phase"] == "Held"
            assert bed.admission("suspended")["reason"] == "Suspended"
            await asyncio.sleep(30)
            assert bed.admission("suspended")["phase"] == "Held"
            await bed.change("suspended", "team-a", {"suspend": False})
            await asyncio.sleep(1)
            assert bed.admission("suspended")["phase"] == "Admitted"

    undisturbed(story())


def test_a_run_waits_for_its_agent_and_continues_when_it_appears():
    """A missing reference is not an error."""

    async def story():
        async with admission_bed(3, WIDE, TEAMS, lambda _: 1.0) as bed:
            bed.begin()
            await asyncio.sleep(1)
            await bed.start("early", "team-a")
            await asyncio.sleep(1)
            assert bed.admission("early")["reason"] == "ReferenceNotFound"
            await _agent(bed)
            await asyncio.sleep(1)
            assert bed.admission("early")["phase"] == "Admitted"

    undisturbed(story())


@pytest.mark.parametrize("seed", range(5))
def test_a_denial_is_based_on_the_server_and_not_on_a_stale_cache(seed):
    """The binding was created before the run, but the watch of runs may be faster than that of bindings."""

    async def story():
        async with admission_bed(seed, WIDE, TEAMS, lambda _: 1.0) as bed:
            await _agent(bed)
            bed.begin(Faults(lag=5.0))
            await asyncio.sleep(20)
            subject = {"kind": "Agent", "name": "coder"}
            await bed.create(
                SECRET_BINDING, "b", "team-a", {"subjects": [subject], "allowedSecrets": ["token"]}
            )
            await bed.start("bound", "team-a", secrets=["token"])
            await bed.start("unbound", "team-a", secrets=["other"])
            await asyncio.sleep(60)
            assert bed.admission("bound")["phase"] == "Admitted"
            denied = bed.admission("unbound")
            assert (denied["phase"], denied["reason"]) == ("Denied", "SecretNotBound")

    undisturbed(story())


def test_running_runs_are_counted_and_not_stopped():
    """When admission starts, nothing is stopped, and nothing is admitted beyond the limit."""

    async def story():
        async with admission_bed(4, ONE, TEAMS, lambda _: 1.0) as bed:
            await _agent(bed)
            await bed.start("old", "team-a")
            await bed.start("new", "team-a")
            run = await bed.client.get(AGENTRUNS, "old", "team-a")
            body = {**run, "status": {"phase": "Running", "startedAt": "2026-01-01T00:00:00Z"}}
            await bed.client.update(AGENTRUNS, body, subresource="status")
            bed.begin()
            await asyncio.sleep(0.5)
            assert bed.admission("old")["reason"] == "AlreadyStarted"
            assert bed.admission("new")["phase"] == "Held"
            await asyncio.sleep(10)
            assert bed.admission("new")["phase"] == "Admitted"

    undisturbed(story())


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("seed", range(3))
def test_the_next_holder_of_the_lease_counts_earlier_admissions(seed):
    """Two processes, one lease: the holder is killed while the other's watches are behind."""
    policy = AdmissionPolicy(concurrency=Concurrency(namespace=5, agent=3, cluster=6))

    async def story():
        async with admission_bed(seed, policy, TEAMS, lambda _: 25.0) as bed:
            for team in TEAMS:
                await _agent(bed, team)
            bed.begin(Faults(die_after=20.0 + seed), candidate="one")
            await asyncio.sleep(3)
            rival = bed.begin(Faults(lag=3.0, lost_answers=0.1, until=600.0), candidate="two")
            await asyncio.sleep(5)
            for number in range(60):
                await bed.start(f"r{number:02}", TEAMS[number % 2])
            await bed.ended(seconds=1200)
            assert rival.wire.writes
            assert violations(bed.server.history.versions, policy) == []

    undisturbed(story())


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("seed", range(4))
def test_a_new_holder_reads_the_runs_before_it_decides(seed):
    """Its watch of one namespace is behind: there the last holder has admitted the only possible run."""

    async def story():
        async with admission_bed(seed, ONE, TEAMS, lambda _: 600.0) as bed:
            for team in TEAMS:
                await _agent(bed, team)
            bed.begin(Faults(die_after=16.0), candidate="one")
            await asyncio.sleep(9)
            await bed.start("taken", "team-a")
            await asyncio.sleep(1)
            assert bed.admission("taken")["phase"] == "Admitted"
            bed.begin(Faults(lag=400.0, until=300.0), candidate="two")
            await asyncio.sleep(21)
            await bed.start("next", "team-b")
            await bed.ended(seconds=4000)
            assert violations(bed.server.history.versions, ONE) == []

    undisturbed(story())


@pytest.mark.parametrize("seed", range(6))
def test_a_write_with_unknown_result_is_read_before_the_next_decision(seed):
    """The responses to admissions are lost and the watch is behind: the slots are taken nevertheless."""
    policy = AdmissionPolicy(concurrency=Concurrency(namespace=5, agent=5, cluster=2))

    async def story():
        async with admission_bed(seed, policy, TEAMS, lambda _: 1500.0) as bed:
            for team in TEAMS:
                await _agent(bed, team)
            await bed.start("a1", "team-a")
            await bed.start("a2", "team-a")
            bed.begin(Faults(lag=300.0, lost_answers=1.0, until=600.0))
            await asyncio.sleep(1)
            assert {bed.admission(name)["phase"] for name in ("a1", "a2")} == {"Admitted"}
            await bed.start("b1", "team-b")
            await bed.ended(seconds=9000)
            assert violations(bed.server.history.versions, policy) == []

    undisturbed(story())
