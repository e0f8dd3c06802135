"""Who may act, agreed through Leases: gains, losses, pauses, partitions, hands on the record."""

import asyncio

import pytest

from kubekit.client.errors import NotSent
from kubekit.leases.lease import LeaseTiming
from support.lease_candidates import TIMING, Candidate, Records, Wire
from support.virtual_time import run_virtual


def now():
    return asyncio.get_running_loop().time()


def test_the_first_takes_it_and_the_second_waits():
    """One holds, the other is ready; the record says who, since when, and how long silence is waited for."""

    async def main():
        records = Records()
        first = Candidate(records, "first")
        await asyncio.sleep(1)
        second = Candidate(records, "second")
        await asyncio.sleep(300)
        assert (first.elector.holds(), second.elector.holds()) == (True, False)
        spec = records.leases["leader"]["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (
            "first",
            30,
            0,
        )
        assert spec["acquireTime"] == "2026-01-01T00:00:00.002000Z"
        assert spec["renewTime"] > "2026-01-01T00:04:50"
        assert second.wire.writes == 0
        await first.stop()
        await second.stop()

    run_virtual(main())


def test_a_clean_end_releases_the_lease_within_one_retry():
    """The record is given back after the authority, and the next takes it without waiting for silence."""

    async def main():
        records = Records()
        first = Candidate(records, "first")
        await asyncio.sleep(1)
        second = Candidate(records, "second")
        await asyncio.sleep(10)
        await first.stop()
        assert (first.changes[-1][0], records.holder) == (False, "")
        await asyncio.wait_for(second.elector.held(), 7.5)
        assert records.leases["leader"]["spec"]["leaseTransitions"] == 1
        await second.stop()

    run_virtual(main())


def test_a_killed_holder_is_followed_after_its_silence():
    """Other candidates wait for at least the duration, and not much longer."""

    async def main():
        records = Records()
        first = Candidate(records, "first")
        await asyncio.sleep(1)
        second = Candidate(records, "second")
        await asyncio.sleep(49.5)
        first.wire.is_cut = True
        first.task.cancel()
        last_renewal = 50.0
        await second.elector.held()
        assert 30 <= now() - last_renewal <= 30 + 2 * TIMING.retry_period
        await second.stop()

    run_virtual(main())


def test_a_partitioned_holder_stops_before_another_starts():
    """It counts from before its last good renewal; the other from when it saw that renewal."""

    async def main():
        records = Records()
        first = Candidate(records, "first")
        await asyncio.sleep(1)
        second = Candidate(records, "second")
        await asyncio.sleep(50)
        first.wire.is_cut = True
        await second.elector.held()
        lost_at = first.changes[-1][1]
        assert first.changes[-1][0] is False
        assert lost_at + 5 < now()
        first.wire.is_cut = False
        await asyncio.sleep(60)
        assert (first.elector.holds(), second.elector.holds()) == (False, True)
        await first.stop()
        await second.stop()

    run_virtual(main())


def test_a_holder_that_was_paused_has_no_authority_when_it_resumes():
    """Not for one question: the time is looked at when authority is asked for."""

    async def main():
        candidate = Candidate(Records(), "first")
        await asyncio.sleep(50)
        assert candidate.elector.holds()
        asyncio.get_running_loop().stall(21)
        assert not candidate.elector.holds()
        await candidate.elector.held()
        assert [has_finalizer for has_finalizer, _ in candidate.changes] == [True, False, True]
        await candidate.stop()

    run_virtual(main())


def test_an_answer_that_comes_too_late_gives_no_authority():
    """A process that slept between its request and the answer learns nothing about now."""

    async def main():
        records = Records()
        candidate = Candidate(records, "first")
        await asyncio.sleep(52)
        candidate.wire.back = lambda: asyncio.get_running_loop().stall(25) or 0.0
        await asyncio.sleep(25)
        assert records.leases["leader"]["spec"]["renewTime"] > "2026-01-01T00:00:54"
        assert not candidate.elector.holds()
        assert [has_finalizer for has_finalizer, _ in candidate.changes] == [True, False]
        await candidate.stop()

    run_virtual(main())


def test_authority_that_ran_out_for_a_moment_was_lost():
    """Callers that checked in that moment were refused, so the loss and the new gain are both reported."""

    def refused():
        raise NotSent("refused")

    def late():
        asyncio.get_running_loop().stall(3)
        return 0.0

    async def main():
        records = Records()
        candidate = Candidate(records, "first", wire=Wire(records, there=lambda: 0.5))
        await asyncio.sleep(50)
        # Two renewals fail; the third is read, written and answered half a second after the last good one ran out.
        answers = iter([refused, refused, lambda: 0.0, late])

        def back():
            return next(answers, lambda: 0.001)()

        candidate.wire.back = back
        await asyncio.sleep(60)
        assert [has_finalizer for has_finalizer, _ in candidate.changes] == [True, False, True]
        await candidate.stop()

    run_virtual(main())


def test_wall_clocks_decide_nothing():
    """A holder whose clock is an hour behind keeps its Lease; one an hour ahead still loses it."""

    async def main():
        records = Records()
        first = Candidate(records, "first", offset=-3600)
        await asyncio.sleep(1)
        second = Candidate(records, "second", offset=3600)
        await asyncio.sleep(600)
        assert (first.elector.holds(), second.elector.holds()) == (True, False)
        first.wire.is_cut = True
        await asyncio.wait_for(second.elector.held(), 60)
        await first.stop()
        await second.stop()

    run_virtual(main())


def test_a_lease_deleted_by_hand_goes_to_no_one_else_at_once():
    """The holder recreates it; the other candidate waits for the observed duration."""

    async def main():
        records = Records()
        first = Candidate(records, "first")
        await asyncio.sleep(1)
        second = Candidate(records, "second")
        for _ in range(20):
            await asyncio.sleep(7)
            del records.leases["leader"]
        await asyncio.sleep(20)
        assert (first.elector.holds(), second.elector.holds()) == (True, False)
        assert second.changes == []
        await first.stop()
        await second.stop()

    run_virtual(main())


def test_a_hand_on_the_record_does_not_cost_the_lease():
    """An annotation by another client is a conflict at the next renewal, and no loss."""

    async def main():
        records = Records()
        candidate = Candidate(records, "first")
        for _ in range(20):
            await asyncio.sleep(11)
            records.update(records.get("leader") | {"note": "hello"})
        assert candidate.changes == [(True, pytest.approx(0.002, abs=0.01))]
        assert records.leases["leader"]["note"] == "hello"
        await candidate.stop()

    run_virtual(main())


def test_shards_have_leases_of_their_own():
    """Every name belongs to one shard, the same for every process; several are held side by side."""

    async def main():
        records = Records()
        candidate = Candidate(records, "first", shards=3)
        await asyncio.sleep(1)
        assert sorted(records.leases) == ["leader-0", "leader-1", "leader-2"]
        assert candidate.elector.held_shards() == [0, 1, 2]
        assert {candidate.elector.shard_of(f"run-{n}") for n in range(100)} == {0, 1, 2}
        assert candidate.elector.shard_of("nightly") == 0
        await candidate.stop()
        assert candidate.elector.held_shards() == []

    run_virtual(main())


@pytest.mark.parametrize(
    ("duration", "renew", "retry"), [(30, 30, 5), (30, 20, 20), (30, 20, 0), (10, 20, 5)]
)
def test_times_that_cannot_be_safe_are_refused(duration, renew, retry):
    """retry period < renew deadline < duration."""
    with pytest.raises(ValueError, match="retry period < renew deadline < duration"):
        LeaseTiming(duration=duration, renew_deadline=renew, retry_period=retry)
