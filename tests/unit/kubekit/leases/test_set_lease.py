"""Versions without shards know one Lease for everything: they and the members of a set keep each other out."""

import asyncio
import os
from random import Random

import pytest

from kubekit.leases.lease import Elector
from kubekit.leases.shard_set import EVERY_MEMBER
from support.lease_candidates import TIMING
from support.reliability_page import record_trials
from support.shard_members import NAMES, ShardProcess, WatchedRecords, WatchingWire
from support.virtual_time import run_virtual, wall_clock

SEEDS = range(100 if os.environ.get("JANGAR_SIMULATION") == "all" else 3)


class Leader:
    """A process that elects one leader by the Lease of the set's name, as versions without shards do."""

    def __init__(self, records, name, *, wire=None, random=lambda: 0.5):
        self.wire = wire or WatchingWire(records)
        self.elector = Elector(
            self.wire,
            name=NAMES.name,
            namespace=NAMES.namespace,
            identity=name,
            now=wall_clock(),
            timing=TIMING,
            random=random,
        )
        self.task = asyncio.create_task(self.elector.run())

    @property
    def leads(self):
        return self.elector.holds()

    def kill(self):
        self.wire.is_cut = True
        self.task.cancel()

    async def stop(self):
        self.task.cancel()
        await asyncio.wait([self.task])


async def until(condition, seconds):
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition sends no event
            await asyncio.sleep(0.01)


def test_members_wait_for_a_leader_and_go_on_at_once_when_it_ends():
    """An upgrade: no shard is held next to the leader, and its Lease becomes the set's."""

    async def main():
        records = WatchedRecords()
        old = Leader(records, "old")
        await until(lambda: old.leads, 10)
        members = [ShardProcess(records, name) for name in ("one", "two")]
        await asyncio.sleep(10 * TIMING.duration)
        assert old.leads
        assert [member.held for member in members] == [set(), set()]
        await old.stop()
        await until(lambda: all(len(member.held) == 6 for member in members), 2 * TIMING.retry_period)
        lease = records.leases[NAMES.name]
        assert lease["spec"]["holderIdentity"] == EVERY_MEMBER
        assert lease["metadata"]["annotations"] == {"example.org/shards": "12"}
        for member in members:
            await member.stop()

    run_virtual(main())


def test_a_killed_leader_is_replaced_after_its_lease_duration():
    """Its silence counts from the last thing that it said."""

    async def main():
        records = WatchedRecords()
        old = Leader(records, "old")
        await until(lambda: old.leads, 10)
        member = ShardProcess(records, "one")
        await asyncio.sleep(60)
        old.kill()
        since = asyncio.get_running_loop().time()
        await until(lambda: len(member.held) == 12, 100)
        waited = asyncio.get_running_loop().time() - since
        assert TIMING.duration - TIMING.retry_period <= waited <= TIMING.duration + 2 * TIMING.retry_period
        await member.stop()

    run_virtual(main())


def test_a_candidate_without_shards_waits_for_the_members_and_leads_after_them():
    """A rollback: it begins when the last member has been silent for as long as a Lease lasts."""

    async def main():
        records = WatchedRecords()
        members = [ShardProcess(records, name) for name in ("one", "two")]
        await until(lambda: all(len(member.held) == 6 for member in members), 10)
        old = Leader(records, "old")
        await asyncio.sleep(10 * TIMING.duration)
        assert not old.leads
        await members[0].stop()
        await asyncio.sleep(2 * TIMING.duration)
        assert not old.leads
        await members[1].stop()
        await until(lambda: old.leads, TIMING.duration + 2 * TIMING.retry_period)
        late = ShardProcess(records, "late")
        await asyncio.sleep(2 * TIMING.duration)
        assert late.held == set()
        await late.stop()
        await old.stop()

    run_virtual(main())


class World:
    """Two leaders' places and two members', where at each any kind may come next."""

    def __init__(self, rng):
        self.rng = rng
        self.records = WatchedRecords()
        self.living = [
            self.start(number, kind)
            for number, kind in enumerate((Leader, Leader, ShardProcess, ShardProcess))
        ]

    def start(self, number, kind):
        wire = WatchingWire(self.records, there=self.delay, back=self.delay)
        return kind(self.records, f"{kind.__name__}-{number}".lower(), wire=wire, random=self.rng.random)

    def delay(self):
        return self.rng.random() * self.rng.choice([0.01, 0.01, 0.01, 1, 4])

    def look(self):
        leading = [item for item in self.living if isinstance(item, Leader) and item.leads]
        holding = [item for item in self.living if isinstance(item, ShardProcess) and item.held]
        assert len(leading) <= 1
        assert not (leading and holding), self.records.leases[NAMES.name]
        return leading or holding

    async def suffer(self, number):
        place = self.rng.randrange(len(self.living))
        one = self.living[place]
        match self.rng.choice(["kill", "stop", "cut", "mend", "nothing"]):
            case "kill":
                one.kill()
                self.living[place] = self.start(number, self.rng.choice((Leader, ShardProcess)))
            case "stop":
                await one.stop()
                self.living[place] = self.start(number, self.rng.choice((Leader, ShardProcess)))
            case "cut":
                one.wire.is_cut = True
            case "mend":
                one.wire.is_cut = False

    def idle(self):
        for item in self.living:
            item.wire.is_cut = False
            item.wire.there = item.wire.back = lambda: 0.01


async def _a_life(seed):
    rng = Random(f"leader {seed}")  # noqa: S311 - a plan repeats
    world = World(rng)
    for number in range(4, 40):
        for _ in range(100):
            await asyncio.sleep(rng.random() * 0.2)
            world.look()
        await world.suffer(number)
    world.idle()
    await asyncio.sleep(5 * TIMING.duration)
    assert world.look(), "no process acts"
    for item in world.living:
        await item.stop()


@pytest.mark.rule("RUN-3")
def test_a_leader_and_a_member_never_act_at_once(record_property):
    """Kills, clean ends, cuts and restarts of both kinds, over slow connections; afterwards one process acts."""
    found = []
    for seed in SEEDS:
        try:
            run_virtual(_a_life(seed))
        except AssertionError as error:
            found.append(f"seed {seed}: {error}")
    record_trials(
        record_property,
        row="8: a leader without shards beside members",
        bed="S",
        seeds=SEEDS,
        failures=len(found),
    )
    assert found == []
