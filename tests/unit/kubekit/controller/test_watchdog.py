"""A pass that holds the event loop is aborted, and its object is left alone until it changes (E2)."""

import asyncio
import logging
import time
from contextlib import suppress

import pytest

from kubekit.cache.object_cache import Cached
from kubekit.controller.controller import MAX_TIMEOUTS, Controller, Outcome, Quarantine
from kubekit.controller.reconcile import DONE, Key
from kubekit.controller.watchdog import PassTooLong, Watchdog
from support.virtual_time import run_virtual

LIMIT = 0.2


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def cached(name, generation=1, **metadata):
    return Cached.of({"metadata": {"namespace": "ns", "name": name, "generation": generation, **metadata}})


async def watched(work, *, limit=LIMIT, **options):
    """The work with its watchdog, and the watchdog."""
    watchdog = Watchdog(limit=limit, **options)
    watching = asyncio.create_task(watchdog.run())
    await asyncio.sleep(0)
    try:
        return await work(watchdog)
    finally:
        watching.cancel()
        await asyncio.wait([watching])


def test_a_piece_that_never_ends_is_aborted_and_others_go_on():
    """E2: an endless loop in Python, swallowed by nothing that catches Exception, ends; the loop lives."""

    async def endless():
        while True:
            # What a careless reconciler does.
            with suppress(Exception):
                spin(60)

    async def work(watchdog):
        with pytest.raises(PassTooLong, match="run ns/a blocked the event loop"):
            await watchdog.guarded(endless(), "run ns/a")
        for number in range(5):
            assert await watchdog.guarded(asyncio.sleep(0.01, number), "run ns/b") == number
        return "alive"

    assert asyncio.run(watched(work)) == "alive"


def test_a_pass_keeps_its_value_its_error_and_its_cancellation():
    """Being watched changes nothing else."""

    async def broken():
        await asyncio.sleep(0)
        raise ValueError("as it was")

    async def long():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "tidied up"

    async def work(watchdog):
        with pytest.raises(ValueError, match="as it was"):
            await watchdog.guarded(broken(), "a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await watchdog.guarded(asyncio.sleep(60), "a")
        task = asyncio.create_task(_await(watchdog.guarded(long(), "a")))
        await asyncio.sleep(0.01)
        task.cancel()
        return await task

    assert asyncio.run(watched(work)) == "tidied up"


async def _await(work):
    return await work


def test_many_short_pieces_are_no_long_one():
    """A pass that awaits is never aborted, however long it takes in all."""

    async def patient():
        for _ in range(20):
            spin(LIMIT / 10)
            await asyncio.sleep(0)
        return "done"

    async def work(watchdog):
        return await watchdog.guarded(patient(), "a")

    assert asyncio.run(watched(work)) == "done"


def test_an_abort_never_hits_the_next_piece():
    """Pieces that end just when they are aborted: the one after them is not touched."""

    async def work(watchdog):
        ended = []
        for number in range(30):
            try:
                await watchdog.guarded(_spinning(0.02 + number * 0.0015), "a")
                ended.append("done")
            except PassTooLong:
                ended.append("aborted")
            assert await watchdog.guarded(asyncio.sleep(0, "innocent"), "b") == "innocent"
        return ended

    ended = asyncio.run(watched(work, limit=0.03))
    assert len(ended) == 30
    assert "aborted" in ended


async def _spinning(seconds):
    spin(seconds)


def test_who_held_the_loop_is_logged_and_the_lag_is_measured(caplog):
    """A piece of more than a tenth of a second is reported with its object."""
    lags = []

    async def work(watchdog):
        await watchdog.guarded(_spinning(0.3), "toolrun ns/a")
        await asyncio.sleep(0.3)

    with caplog.at_level(logging.WARNING):
        asyncio.run(watched(work, limit=5.0, on_lag=lags.append))
    (record,) = [item for item in caplog.records if item.getMessage() == "event loop blocked"]
    assert record.by == "toolrun ns/a"
    assert record.seconds >= 0.3
    assert lags
    assert all(lag >= 0 for lag in lags)


class Bed:
    """A controller whose reconciler spins for objects called bad."""

    def __init__(self, *objects, recorded=lambda _: False, **options):
        self.objects = {Key("ns", item.name): item for item in objects}
        self.outcomes, self.passes, self.records = [], [], []
        quarantine = Quarantine(subject=self.objects.get, is_recorded=recorded, record=self.record)
        self.controller = Controller("run", self.reconcile, workers=1, quarantine=quarantine, **options)
        self.controller.on_pass = lambda _, outcome, __: self.outcomes.append(outcome)

    async def record(self, seen, reason):
        self.records.append((seen.name, reason))

    async def reconcile(self, key):
        self.passes.append(key.name)
        if key.name == "bad":
            spin(60)
        return DONE

    async def look(self, *names):
        for name in names:
            self.controller.enqueue(Key("ns", name))
            while len(self.controller.queue) or self.controller.queue.processing:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def test_an_object_that_held_the_loop_is_quarantined_until_its_generation_changes():
    """E2: aborted once, recorded once, not evaluated again; another spec is evaluated, others are all the time."""

    async def work(watchdog):
        bed = Bed(cached("bad"), cached("good"))
        bed.controller.watchdog = watchdog
        running = asyncio.create_task(bed.controller.run())
        await bed.look("bad", "good", "bad", "good")
        assert bed.passes == ["bad", "good", "good"]
        assert [outcome for outcome in bed.outcomes if outcome is not Outcome.QUARANTINED] == [
            Outcome.ABORTED,
            Outcome.DONE,
            Outcome.DONE,
        ]
        assert Outcome.QUARANTINED in bed.outcomes
        assert bed.records == [
            ("bad", "reconciling it blocked the event loop for too long and was aborted"),
        ]
        assert len(bed.controller.quarantine) == 1
        bed.objects[Key("ns", "bad")] = cached("bad", generation=2)
        await bed.look("bad")
        assert bed.passes == ["bad", "good", "good", "bad"]
        bed.objects[Key("ns", "bad")] = cached("bad", generation=2, deletionTimestamp="2026-01-01T00:00:00Z")
        await bed.look("bad", "bad")
        assert bed.passes.count("bad") == 3
        bed.controller.stop()
        await running

    asyncio.run(watched(work))


def test_quarantine_outlives_a_restart():
    """What the object itself says counts: the next process does not evaluate it either."""
    bed = Bed(cached("bad"), recorded=lambda seen: seen.name == "bad")

    async def main():
        running = asyncio.create_task(bed.controller.run())
        await bed.look("bad")
        bed.controller.stop()
        await running

    asyncio.run(main())
    assert bed.passes == []
    assert bed.outcomes == [Outcome.QUARANTINED]


@pytest.mark.parametrize(("others_pass", "expected"), [(True, MAX_TIMEOUTS), (False, None)])
def test_passes_that_never_end_quarantine_an_object_only_if_others_end(others_pass, expected):
    """An API server that does not answer lets no pass end: the watchdog does not blame the process."""
    bed = Bed(cached("hangs"), cached("good"), time_limit=10.0, random=lambda: 1.0)

    async def reconcile(key):
        bed.passes.append(key.name)
        if key.name == "hangs":
            await asyncio.sleep(3600)
        return DONE

    bed.controller._reconcile = reconcile

    async def main():
        running = asyncio.create_task(bed.controller.run())
        bed.controller.enqueue(Key("ns", "hangs"))
        for _ in range(60):
            await asyncio.sleep(5)
            if others_pass:
                bed.controller.enqueue(Key("ns", "good"))
        bed.controller.stop()
        await running

    run_virtual(main())
    assert (bed.passes.count("hangs") if bed.records else None) == expected
