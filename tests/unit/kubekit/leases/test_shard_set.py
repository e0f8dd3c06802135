"""Shares of a set of shards: taken, handed over, taken over, and held by one at a time."""

import asyncio

import pytest

from kubekit.controller.reconcile import Key
from support.lease_candidates import TIMING
from support.shard_members import NAMES, Sharer, WatchedRecords, a_key_of
from support.virtual_time import run_virtual


def now():
    return asyncio.get_running_loop().time()


async def settled(*sharers, seconds=120.0):
    """Until each shard is held by somebody and the shares are even; how long it took."""
    began = now()
    async with asyncio.timeout(seconds):
        while not is_even(sharers):  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.01)
    return now() - began


def is_even(sharers):
    sizes = [len(each.held) for each in sharers]
    return sum(sizes) == sharers[0].shards.shards > 0 and max(sizes) - min(sizes) <= 1


async def end(*sharers):
    for each in sharers:
        await each.stop()


def test_the_first_takes_all_and_writes_down_how_many():
    """The set's Lease says the count; a shard's says who holds it; a member's which version it is."""

    async def main():
        records = WatchedRecords()
        only = Sharer(records, "one")
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
        first = Sharer(records, "one", count=6)
        await settled(first)
        second = Sharer(records, "two", count=99)
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
        sharers = [Sharer(records, "one")]
        await settled(*sharers)
        for name in ("two", "three", "four", "five"):
            sharers.append(Sharer(records, name))
            assert await settled(*sharers) < 1.0
            await asyncio.sleep(20)
        assert sorted(len(each.held) for each in sharers) == [2, 2, 2, 3, 3]
        turnover = sharers[0].shards.turnover
        assert (turnover.taken - turnover.handed_over, turnover.lost) == (len(sharers[0].held), 0)
        await end(*sharers)

    run_virtual(main())


def test_a_clean_end_hands_all_over_at_once():
    """Nobody waits for silence: the records are given back and the member is gone."""

    async def main():
        records = WatchedRecords()
        first, second = Sharer(records, "one"), Sharer(records, "two")
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
        sharers = [Sharer(records, name) for name in ("one", "two", "three")]
        await settled(*sharers)
        await asyncio.sleep(61.3)
        renewed = now()
        sharers[0].kill()
        lost = set(range(12)) - sharers[1].held - sharers[2].held
        await settled(*sharers[1:])
        taken = [at for each in sharers[1:] for at, shard, held in each.changes if held and shard in lost]
        last = max(taken)
        assert TIMING.duration - TIMING.retry_period <= last - renewed <= TIMING.duration + 1.0
        assert sum(each.shards.turnover.taken_over for each in sharers[1:]) == len(lost)
        await end(*sharers[1:])

    run_virtual(main())


def test_a_shard_is_given_back_only_after_its_passes_have_ended():
    """Nothing new is begun meanwhile, the Lease is renewed meanwhile, and the next waits."""

    async def main():
        records = WatchedRecords()
        first = Sharer(records, "one")
        await settled(first)
        first.busy = set(range(12))
        second = Sharer(records, "two")
        await asyncio.sleep(12)
        leaving = [shard for shard in range(12) if not first.shards.accepts(a_key_of(first.shards, shard))]
        assert (len(leaving), len(first.held), second.held) == (6, 12, set())
        first.busy = set()
        assert await settled(first, second) < 0.5
        assert second.held == set(leaving)
        await end(first, second)

    run_virtual(main())


def test_passes_that_do_not_end_are_abandoned_in_the_end():
    """A share is not kept for ever: after the bound authority ends, then the pass, then the record goes."""

    async def main():
        records = WatchedRecords()
        first = Sharer(records, "one")
        await settled(first)
        first.busy = set(range(12))
        first.shards.subscribe(lambda shard, held: None if held else first.busy.discard(shard))
        second = Sharer(records, "two")
        assert TIMING.renew_deadline <= await settled(first, second) <= TIMING.renew_deadline + 1
        await end(first, second)

    run_virtual(main())


def test_a_process_that_is_not_ready_holds_nothing():
    """It is no member before, and hands over what it has when it is no longer."""

    async def main():
        records = WatchedRecords()
        first, second = Sharer(records, "one"), Sharer(records, "two")
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
        sharers = [Sharer(records, name) for name in ("one", "two", "three")]
        await settled(*sharers)
        sharers[0].wire.is_cut = True
        for _ in range(1000):
            await asyncio.sleep(0.1)
            held = [shard for each in sharers for shard in each.held]
            assert len(held) == len(set(held))
        assert (sharers[0].held, is_even(sharers[1:])) == (set(), True)
        sharers[0].wire.is_cut = False
        await settled(*sharers)
        await end(*sharers)

    run_virtual(main())


def test_a_deleted_set_is_written_down_again_as_it_was():
    """The count is not lost with it, whatever a newcomer's environment says."""

    async def main():
        records = WatchedRecords()
        first = Sharer(records, "one", count=6)
        await settled(first)
        records.delete("controllers", records.leases["controllers"]["metadata"]["uid"])
        second = Sharer(records, "two", count=99)
        await settled(first, second)
        assert records.leases["controllers"]["metadata"]["annotations"] == {"example.org/shards": "6"}
        assert second.shards.shards == 6
        await end(first, second)

    run_virtual(main())


def test_another_count_is_taken_up_by_all_without_a_double_holder():
    """Shards of the old count are given back before one of the new is taken."""

    async def main():
        records = WatchedRecords()
        sharers = [Sharer(records, name) for name in ("one", "two")]
        await settled(*sharers)
        key = Key("default", "nightly")
        records.annotate("controllers", shards="5")
        for _ in range(200):
            await asyncio.sleep(0.01)
            assert sum(each.shards.holds(key) for each in sharers) <= 1
        await settled(*sharers)
        assert {each.shards.shards for each in sharers} == {5}
        await end(*sharers)

    run_virtual(main())


def test_a_count_that_says_nothing_changes_nothing():
    """A hand's mistake on the set's Lease leaves the shards where they are."""

    async def main():
        records = WatchedRecords()
        only = Sharer(records, "one")
        await settled(only)
        records.annotate("controllers", shards="many")
        await asyncio.sleep(60)
        assert (only.shards.shards, len(only.held)) == (12, 12)
        await end(only)

    run_virtual(main())


def test_leases_of_members_long_gone_are_deleted():
    """A pod that was killed leaves no rubbish for ever."""

    async def main():
        records = WatchedRecords()
        first, second = Sharer(records, "one"), Sharer(records, "two")
        await settled(first, second)
        second.kill()
        await settled(first)
        assert "controllers-member-two" in records.leases
        await asyncio.sleep(11 * TIMING.duration)
        assert NAMES.member("two") not in records.leases
        await end(first)

    run_virtual(main())


def test_nothing_but_renewals_is_written_in_calm():
    """One write for each Lease held, one for each member, one for the set, in each period."""

    async def main():
        records = WatchedRecords()
        sharers = [Sharer(records, name) for name in ("one", "two", "three")]
        await settled(*sharers)
        await asyncio.sleep(30)
        before = sum(each.wire.writes for each in sharers)
        await asyncio.sleep(100)
        beats = (sum(each.wire.writes for each in sharers) - before) / (100 / TIMING.retry_period)
        assert beats == pytest.approx(12 + 3 + 1, abs=1)
        await end(*sharers)

    run_virtual(main())
