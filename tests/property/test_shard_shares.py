"""Shares of shards are even, the same for every member, and stable when members join and leave."""

import asyncio
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubekit.leases.shard_records import assignment, shard_of
from support.shard_members import ShardProcess, WatchedRecords, WatchingWire
from support.virtual_time import run_virtual

MEMBERS = st.sets(st.text("abcdef0123456789-", min_size=1, max_size=12), min_size=1, max_size=9)
SHARDS = st.integers(1, 64)
FAULTS = ["cut", "mend", "kill", "stop", "join", "nothing", "nothing"]


@pytest.mark.rule("CHART-4")
@given(shards=SHARDS, members=MEMBERS, seed=st.integers(0, 1000))
def test_each_member_holds_the_floor_or_the_ceiling(shards, members, seed):
    """All shards are assigned, and the order of members does not matter."""
    shuffled = sorted(members)
    Random(seed).shuffle(shuffled)  # noqa: S311 - an order, not a secret
    shares = assignment(shards, shuffled)
    assert shares == assignment(shards, members)
    assert set(shares) == set(range(shards))
    load = Counter(shares.values())
    assert {load[member] for member in members} <= {shards // len(members), -(-shards // len(members))}


@given(shards=SHARDS, members=MEMBERS, name=st.text("xyz", min_size=1, max_size=4))
def test_few_shards_move_when_a_member_joins_or_leaves(shards, members, name):
    """Never all of them, and never more than three times the minimum and a few."""
    before, after = assignment(shards, members), assignment(shards, {*members, name})
    moved = sum(before[shard] != after[shard] for shard in range(shards))
    assert moved <= 3 * -(-shards // (len(members) + 1)) + 4


def test_moves_are_close_to_the_minimum_on_average():
    """Over many memberships less than twice the share of the new member."""
    rng = Random(8)  # noqa: S311
    for count in (2, 3, 5, 8):
        moved = 0
        for _ in range(200):
            members = [f"pod-{rng.random()}" for _ in range(count + 1)]
            before, after = assignment(12, members[:-1]), assignment(12, members)
            moved += sum(before[shard] != after[shard] for shard in range(12))
        assert moved / 200 < 2 * 12 / (count + 1)


def test_names_are_spread_evenly():
    """Numbered runs in some namespaces: no shard has twice its share."""
    load = Counter(shard_of(f"team-{n % 7}", f"nightly-{n}", 12) for n in range(12_000))
    assert set(load) == set(range(12))
    assert max(load.values()) < 1.3 * 1000


def test_the_shard_of_a_name_never_changes():
    """Two versions that run side by side must agree."""
    assert [shard_of("default", f"run-{n}", 12) for n in range(6)] == [6, 4, 2, 8, 3, 9]


class World:
    """Some processes, their connections, and every moment at which two of them held one shard."""

    def __init__(self, rng, count):
        self.rng = rng
        self.records = WatchedRecords()
        self.doubles = []
        self.started = 0
        self.living = [self.start() for _ in range(count)]

    def start(self):
        self.started += 1
        process = ShardProcess(
            self.records,
            f"process-{self.started}",
            wire=WatchingWire(self.records, there=self.delay, back=self.delay),
            offset=self.rng.uniform(-9999, 9999),
            random=self.rng.random,
            count=self.rng.choice([4, 7]),
        )
        process.shards.subscribe(lambda *_: self.look())
        return process

    def delay(self):
        return self.rng.random() * self.rng.choice([0.01, 0.01, 0.01, 0.01, 2, 8, 40])

    def look(self):
        load = Counter(shard for item in self.living for shard in item.held)
        self.doubles += [(asyncio.get_running_loop().time(), item) for item, n in load.items() if n > 1]
        return load

    async def suffer(self, fault):
        number = self.rng.randrange(len(self.living))
        process = self.living[number]
        match fault:
            case "cut":
                process.wire.is_cut = True
            case "mend":
                process.wire.is_cut = False
            case "kill":
                self.living[number] = self.start()
                process.kill()
            case "stop":
                self.living[number] = self.start()
                stopping = asyncio.create_task(process.stop())
                await asyncio.wait([stopping], timeout=60)
            case "join" if len(self.living) < 5:
                self.living.append(self.start())

    def idle(self):
        for item in self.living:
            item.wire.is_cut = False
            item.wire.there = item.wire.back = lambda: 0.01


@pytest.mark.rule("CHART-4")
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32), count=st.integers(2, 3))
def test_no_shard_has_two_holders(seed, count):
    """With delays, disconnects, kills, restarts and members with other shard counts there is at most one holder;
    without faults, all shards are evenly shared.
    """

    async def main():
        rng = Random(seed)  # noqa: S311 - a replayable history, not a secret
        world = World(rng, count)
        for _ in range(25):
            await asyncio.sleep(rng.random() * 10)
            world.look()
            await world.suffer(rng.choice(FAULTS))
        world.idle()
        await asyncio.sleep(120)
        assert world.doubles == []
        sizes = [len(item.held) for item in world.living]
        assert sum(sizes) == world.living[0].shards.shards
        assert max(sizes) - min(sizes) <= 1
        for item in world.living:
            await item.stop()

    run_virtual(main())
