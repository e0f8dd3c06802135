"""In which batches watchers are notified: at once while that is cheap, else with later events."""

import asyncio

import pytest

from contract.storage.implementations import pod
from picokube.apiserver.storage.broadcaster import MAX_PAUSE, Broadcaster
from picokube.apiserver.storage.store import Event, EventType, Stored, StoreSettings, TooSlow
from support.virtual_time import run_virtual

MILLISECOND = 0.001


def event(revision):
    stored = Stored(key=pod("a"), uid="uid", revision=revision, data=b"{}")
    return Event(type=EventType.MODIFIED, object=stored)


def broadcaster():
    settings = StoreSettings(heartbeat=None, watch_queue_events=8)
    return Broadcaster(floor=1, revision=1, past=lambda *_: [], settings=settings)


async def batches_reported(*, cost, watchers=2):
    """The batches that each watcher gets of an event every millisecond, if notifying one takes `cost` seconds."""
    source, stories, loop = broadcaster(), [[] for _ in range(watchers)], asyncio.get_running_loop()

    async def listen(story):
        async for batch in source.watch("pods", None, 1):
            story.append([item.object.revision for item in batch])
            loop.stall(cost)

    tasks = [asyncio.create_task(listen(story)) for story in stories]
    for revision in range(2, 8):
        await asyncio.sleep(MILLISECOND)
        source.publish([event(revision)])
    await asyncio.sleep(1)
    source.close()
    await asyncio.gather(*tasks)
    return stories


def test_watchers_that_cost_little_are_reported_at_once():
    assert run_virtual(batches_reported(cost=0)) == [[[2], [3], [4], [5], [6], [7]]] * 2


def test_what_comes_within_the_pause_after_a_round_is_reported_together():
    """As long as the round took: two watchers of two milliseconds each."""
    for story in run_virtual(batches_reported(cost=2 * MILLISECOND)):
        assert [revision for batch in story for revision in batch] == [2, 3, 4, 5, 6, 7]
        assert story[0] == [2]
        assert [3, 4, 5] in (batch[:3] for batch in story)


def test_no_pause_is_longer_than_the_longest():
    async def scenario():
        source, loop = broadcaster(), asyncio.get_running_loop()
        watch = source.watch("pods", None, 1)
        for revision, cost in ((2, 60), (3, 0)):
            waiting = asyncio.create_task(anext(watch))
            await asyncio.sleep(0)
            began = loop.time()
            source.publish([event(revision)])
            loop.stall(cost)
            await waiting
        assert loop.time() - began == pytest.approx(MAX_PAUSE)

    run_virtual(scenario())


def test_a_watcher_with_too_much_waiting_is_woken_to_hear_it():
    async def scenario():
        source = broadcaster()
        waiting = asyncio.create_task(anext(source.watch("pods", None, 1)))
        await asyncio.sleep(0)
        source.publish([event(revision) for revision in range(2, 12)])
        with pytest.raises(TooSlow):
            await waiting

    run_virtual(scenario())


def test_a_watch_says_what_it_reported_and_not_what_still_waits_for_its_round():
    """A watcher that resumes from there would otherwise miss the waiting events."""

    async def scenario():
        source = broadcaster()
        watch = source.watch("pods", None, 1)
        source.publish([event(5)])
        before = watch.revision
        await anext(watch)
        return before, watch.revision

    assert run_virtual(scenario()) == (1, 5)
