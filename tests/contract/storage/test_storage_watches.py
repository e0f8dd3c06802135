"""Guarantees of a watch: every event after a revision, once, in order, or an explicit end."""

import asyncio

import pytest

from contract.storage.implementations import (
    ADDED,
    DELETED,
    MODIFIED,
    changes_reported,
    job,
    pod,
    put,
    read_until,
    remove,
    run,
    value_of,
)
from picokube.apiserver.storage.store import Closed, Compacted, TooSlow


def test_a_watch_reports_past_and_new_events(opened):
    async def scenario():
        store = opened()
        watch = store.watch("pods", None, store.revision)
        first = await store.change(pod("a"), put(1, labels={"app": "web"}))
        second = await store.change(pod("a"), put(2))
        last = await store.change(pod("a"), remove)
        events = await read_until(watch, store.revision)
        assert changes_reported(events) == [(ADDED, "a", 2), (MODIFIED, "a", 3), (DELETED, "a", 4)]
        assert [event.object for event in events] == [first, second, last]
        assert [event.previous for event in events] == [None, first, second]
        await store.close()

    run(scenario())


def test_a_watch_reports_only_its_resource_and_namespace(opened):
    async def scenario():
        store = opened()
        everywhere, one = store.watch("pods", None, 1), store.watch("pods", "one", 1)
        for key in (pod("a", "one"), job("b", "one"), pod("c", "two"), pod("d", "one")):
            await store.change(key, put())
        assert changes_reported(await read_until(everywhere, store.revision)) == [
            (ADDED, "a", 2),
            (ADDED, "c", 4),
            (ADDED, "d", 5),
        ]
        assert changes_reported(await read_until(one, store.revision)) == [(ADDED, "a", 2), (ADDED, "d", 5)]
        await store.close()

    run(scenario())


@pytest.mark.parametrize("reopened", [False, True], ids=["running", "reopened"])
def test_a_watch_may_start_at_any_revision_in_the_window(opened, implementation, reopened):
    """In memory or only in the log, before or after a restart: the same events with the same values."""
    if reopened and not implementation.durable:
        pytest.skip("in memory")

    async def scenario():
        store = opened(watch_queue_events=100)
        live = store.watch("pods", "default", store.revision)
        for change in (
            put(1, labels={"app": "web"}, owners=("o",)),
            put(2),
            remove,
            put(3),
            put(4),
            remove,
            put(5),
        ):
            for key in (pod("a"), job("a"), pod("b"), pod("c", "other")):
                await store.change(key, change)
        events = await read_until(live, store.revision)
        if reopened:
            await store.close()
            store = opened()
        for since in range(1, store.revision + 1):
            again = await read_until(store.watch("pods", "default", since), store.revision)
            assert again == [event for event in events if event.object.revision > since]
        await store.close()

    run(scenario())


def test_a_watch_from_a_future_revision_waits_for_it(opened):
    async def scenario():
        store = opened()
        watch = store.watch("pods", None, 3)
        for name in "abcd":
            await store.change(pod(name), put())
        assert changes_reported(await read_until(watch, store.revision)) == [(ADDED, "c", 4), (ADDED, "d", 5)]
        await store.close()

    run(scenario())


def test_watchers_that_join_during_writes_miss_nothing(opened):
    async def scenario():
        store = opened(watch_queue_events=1000)
        changing = asyncio.gather(*(_rewrite(store, name, 30) for name in "abcd"))
        watches = {}
        while not changing.done():
            since = max(1, store.revision - len(watches) * 3)
            watches[store.watch("pods", None, since)] = since
            await asyncio.sleep(0.001)
        await changing
        for watch, since in watches.items():
            revisions = [event.object.revision for event in await read_until(watch, store.revision)]
            assert revisions == list(range(since + 1, store.revision + 1))
        await store.close()

    run(scenario())


async def _rewrite(store, name, times):
    for number in range(times):
        await store.change(pod(name), put(number))


def test_an_idle_watch_reports_its_progress(opened):
    """The heartbeat: no event for this watcher, but the revision advances."""

    async def scenario():
        store = opened()
        watch = store.watch("pods", None, store.revision)
        await store.change(job("a"), put())
        assert await anext(watch) == ()
        assert watch.revision == store.revision == 2
        await store.close()

    run(scenario())


def test_a_slow_watcher_is_dropped_and_can_resume(opened):
    async def scenario():
        store = opened(watch_queue_events=8)
        slow, fast = store.watch("pods", None, 1), store.watch("pods", None, 1)
        received = []
        for number in range(9):
            await store.change(pod("a"), put(number))
            received += await anext(fast)
        with pytest.raises(TooSlow):
            await anext(slow)
        assert [value_of(event.object) for event in received] == list(range(9))
        again = await read_until(store.watch("pods", None, slow.revision), store.revision)
        assert again == received
        await store.close()

    run(scenario())


def test_a_watch_below_the_compacted_revision_is_rejected_at_once(opened):
    async def scenario():
        store = opened()
        for number in range(5):
            await store.change(pod("a"), put(number))
        await store.compact(4)
        with pytest.raises(Compacted):
            store.watch("pods", None, 3)
        assert changes_reported(await read_until(store.watch("pods", None, 4), 6)) == [
            (MODIFIED, "a", 5),
            (MODIFIED, "a", 6),
        ]
        await store.close()

    run(scenario())


def test_a_cancelled_or_closed_watch_does_not_affect_others(opened):
    async def scenario():
        store = opened(heartbeat=None)
        closed, cancelled, kept = (store.watch("pods", None, 1) for _ in range(3))
        waiting = [asyncio.create_task(anext(watch)) for watch in (closed, cancelled, kept)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        await closed.aclose()
        await store.change(pod("a"), put())
        with pytest.raises(StopAsyncIteration):
            await waiting[0]
        assert changes_reported(await waiting[2]) == [(ADDED, "a", 2)]
        assert changes_reported(await anext(cancelled)) == [(ADDED, "a", 2)], "a cancelled wait loses nothing"
        await store.close()

    run(scenario())


def test_watches_end_when_the_store_closes_after_reporting_everything(opened):
    async def scenario():
        store = opened(heartbeat=None)
        watch = store.watch("pods", None, 1)
        queued = asyncio.create_task(store.change(pod("a"), put()))
        await asyncio.sleep(0)
        await store.close()
        await queued
        assert [changes_reported(batch) async for batch in watch] == [[(ADDED, "a", 2)]]
        with pytest.raises(Closed):
            store.watch("pods", None, 1)

    run(scenario())
