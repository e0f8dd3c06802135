"""Shares of a set of shards: taken, handed over, taken over, and held by one at a time."""

import asyncio

import pytest

from kubekit.controller.reconcile import Key
from support.lease_candidates import TIMING
from support.shard_members import NAMES, ShardProcess, WatchedRecords, a_key_of
from support.virtual_time import run_virtual


def now():
    return asyncio.get_running_loop().time()


async def settled(*members, seconds=120.0):
    """Wait until each shard has a holder and the shares are even; return how long it took."""
    began = now()
    async with asyncio.timeout(seconds):
        while not is_even(members):  # noqa: ASYNC110 - the condition sends no event
            await asyncio.sleep(0.01)
    return now() - began


def is_even(members):
    sizes = [len(member_2.held) for member_2 in members]
    return sum(sizes) == members[0].shards.shards > 0 and max(sizes) - min(sizes) <= 1


async def end(*members):
    for member_2 in members:
        await member_2.stop()


def test_the_first_takes_all_and_writes_down_how_many():
    """The set's Lease says the count; a shard's says who holds it; a member's which version it is."""

    async def main():
        records = WatchedRecords()
        only = ShardProcess(records, "one")
        assert await settled(only) < 1
        assert records.leases["controllers"]["metadata"]["annotations"] == {"example.org/shards": "12"}
        assert records.holder_of(11) == "one"
        member = records.leases["controllers-member-one"]
        assert member["metadata"]["annotations"] == {"example.org/version": "1"}
        assert member["spec"]["leaseDurationSeconds"] == TIMING.duration
        await end(only)

    run_virtual(main())


def test_the_count_of_the_first_counts_for_all():
    """A process with another setting reads the count that is written down."""

    async def main():
        records = WatchedRecords()
        first = ShardProcess(records, "one", count=6)
        await settled(first)
        second = ShardProcess(records, "two", count=99)
        await settled(first, second)
        assert (first.shards.shards, second.shards.shards) == (6, 6)
        assert (len(first.held), len(second.held)) == (3, 3)
        await end(first, second)

    run_virtual(main())


@pytest.mark.rule("CHART-4")
def test_a_member_that_comes_gets_its_share_within_a_moment():
    """Shards are handed over, not waited for; nothing is held twice on the way."""

    async def main():
        records = WatchedRecords()
        members = [ShardProcess(records, "one")]
        await settled(*members)
        for name in ("two", "three", "four", "five"):
            members.append(ShardProcess(records, name))
            assert await settled(*members) < 1.0
            await asyncio.sleep(20)
        assert sorted(len(member_2.held) for member_2 in members) == [2, 2, 2, 3, 3]
        turnover = members[0].shards.turnover
        assert (turnover.taken - turnover.handed_over, turnover.lost) == (len(members[0].held), 0)
        await end(*members)

    run_virtual(main())


def test_a_clean_end_releases_all_shards_at_once():
    """No timeout is waited for: the Leases are released and the member is gone."""

    async def main():
        records = WatchedRecords()
        first, second = ShardProcess(records, "one"), ShardProcess(records, "two")
        await settled(first, second)
        await first.stop()
        assert "controllers-member-one" not in records.leases
        assert await settled(second) < 1.0
        assert second.shards.turnover.taken_over == 0
        await end(second)

    run_virtual(main())


@pytest.mark.rule("CHART-4")
def test_a_killed_members_shards_are_taken_over_within_the_lease_time():
    """After its silence and not before, by all who are left."""

    async def main():
        records = WatchedRecords()
        members = [ShardProcess(records, name) for name in ("one", "two", "three")]
        await settled(*members)
        await asyncio.sleep(61.3)
        renewed = now()
        members[0].kill()
        lost = set(range(12)) - members[1].held - members[2].held
        await settled(*members[1:])
        taken = [
            at for member_2 in members[1:] for at, shard, held in member_2.changes if held and shard in lost
        ]
        last = max(taken)
        assert TIMING.duration - TIMING.retry_period <= last - renewed <= TIMING.duration + 1.0
        assert sum(member_2.shards.turnover.taken_over for member_2 in members[1:]) == len(lost)
        await end(*members[1:])

    run_virtual(main())


def test_a_shard_is_given_back_only_after_its_passes_have_ended():
    """Nothing new is begun meanwhile, the Lease is renewed meanwhile, and the next waits."""

    async def main():
        records = WatchedRecords()
        first = ShardProcess(records, "one")
        await settled(first)
        first.busy = set(range(12))
        second = ShardProcess(records, "two")
        await asyncio.sleep(12)
        leaving = [shard for shard in range(12) if not first.shards.accepts(a_key_of(first.shards, shard))]
        assert (len(leaving), len(first.held), second.held) == (6, 12, set())
        first.busy = set()
        assert await settled(first, second) < 0.5
        assert second.held == set(leaving)
        await end(first, second)

    run_virtual(main())


def test_passes_that_do_not_end_are_abandoned_in_the_end():
    """A share is not kept forever: after the bound authority ends, then the pass, then the record goes."""

    async def main():
        records = WatchedRecords()
        first = ShardProcess(records, "one")
        await settled(first)
        first.busy = set(range(12))
        first.shards.subscribe(lambda shard, held: None if held else first.busy.discard(shard))
        second = ShardProcess(records, "two")
        assert TIMING.renew_deadline <= await settled(first, second) <= TIMING.renew_deadline + 1
        await end(first, second)

    run_virtual(main())


def test_a_process_that_is_not_ready_holds_nothing():
    """It is no member before, and hands over what it has when it is no longer."""

    async def main():
        records = WatchedRecords()
        first, second = ShardProcess(records, "one"), ShardProcess(records, "two")
        second.is_ready = False
        await asyncio.sleep(30)
        assert (len(first.held), second.held) == (12, set())
        second.is_ready = True
        await settled(first, second)
        first.is_ready = False
        await asyncio.sleep(2 * TIMING.duration)
        assert (first.held, len(second.held)) == (set(), 12)
        await end(first, second)

    run_virtual(main())


def test_a_partitioned_member_stops_before_others_begin():
    """Its authority ends by its own clock; when it is back it gets its share again."""

    async def main():
        records = WatchedRecords()
        members = [ShardProcess(records, name) for name in ("one", "two", "three")]
        await settled(*members)
        members[0].wire.is_cut = True
        for _ in range(1000):
            await asyncio.sleep(0.1)
            held = [shard for member_2 in members for shard in member_2.held]
            assert len(held) == len(set(held))
        assert (members[0].held, is_even(members[1:])) == (set(), True)
        members[0].wire.is_cut = False
        await settled(*members)
        await end(*members)

    run_virtual(main())


def test_a_deleted_set_is_written_down_again_as_it_was():
    """The count is not lost with it, whatever a newcomer's environment says."""

    async def main():
        records = WatchedRecords()
        first = ShardProcess(records, "one", count=6)
        await settled(first)
        records.delete("controllers", records.leases["controllers"]["metadata"]["uid"])
        second = ShardProcess(records, "two", count=99)
        await settled(first, second)
        assert records.leases["controllers"]["metadata"]["annotations"] == {"example.org/shards": "6"}
        assert second.shards.shards == 6
        await end(first, second)

    run_virtual(main())


def test_another_count_is_taken_up_by_all_without_a_double_holder():
    """Shards of the old count are given back before one of the new is taken."""

    async def main():
        records = WatchedRecords()
        members = [ShardProcess(records, name) for name in ("one", "two")]
        await settled(*members)
        key = Key("default", "nightly")
        records.annotate("controllers", shards="5")
        for _ in range(200):
            await asyncio.sleep(0.01)
            assert sum(member_2.shards.holds(key) for member_2 in members) <= 1
        await settled(*members)
        assert {member_2.shards.shards for member_2 in members} == {5}
        await end(*members)

    run_virtual(main())


def test_a_count_that_says_nothing_changes_nothing():
    """A hand's mistake on the set's Lease leaves the shards where they are."""

    async def main():
        records = WatchedRecords()
        only = ShardProcess(records, "one")
        await settled(only)
        records.annotate("controllers", shards="many")
        await asyncio.sleep(60)
        assert (only.shards.shards, len(only.held)) == (12, 12)
        await end(only)

    run_virtual(main())


def test_leases_of_members_long_gone_are_deleted():
    """A killed pod's records are removed eventually."""

    async def main():
        records = WatchedRecords()
        first, second = ShardProcess(records, "one"), ShardProcess(records, "two")
        await settled(first, second)
        second.kill()
        await settled(first)
        assert "controllers-member-two" in records.leases
        await asyncio.sleep(11 * TIMING.duration)
        assert NAMES.member("two") not in records.leases
        await end(first)

    run_virtual(main())


def test_nothing_but_renewals_is_written_in_idle():
    """One write for each Lease held, one for each member, one for the set, in each period."""

    async def main():
        records = WatchedRecords()
        members = [ShardProcess(records, name) for name in ("one", "two", "three")]
        await settled(*members)
        await asyncio.sleep(30)
        before = sum(member_2.wire.writes for member_2 in members)
        await asyncio.sleep(100)
        beats = (sum(member_2.wire.writes for member_2 in members) - before) / (100 / TIMING.retry_period)
        assert beats == pytest.approx(12 + 3 + 1, abs=1)
        await end(*members)

    run_virtual(main())
