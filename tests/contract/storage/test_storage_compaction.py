"""What compaction removes, and what it keeps."""

import asyncio
from datetime import timedelta

import pytest

from contract.storage.implementations import changes_reported, pod, put, read_until, remove, run, value_of
from picokube.apiserver.storage.store import Compacted


async def write(store, *, keys="abc", times=5):
    for number in range(times):
        for name in keys:
            await store.change(pod(name), put(number))


def test_current_objects_survive_every_compaction(opened, implementation):
    async def scenario():
        store = opened()
        await write(store)
        await store.change(pod("a"), remove)
        before = store.list("pods")
        await store.compact(store.revision)
        assert store.list("pods") == before
        assert store.floor == store.revision == before.revision
        if implementation.durable:
            await store.close()
            store = opened()
            assert store.list("pods") == before
            assert store.floor == before.revision
        await store.close()

    run(scenario())


def test_no_revision_is_reused_after_the_newest_was_compacted(opened, implementation):
    """The last change was a removal, and compaction deleted its row; the log does not contain the last revision."""
    if not implementation.durable:
        pytest.skip("in memory")

    async def scenario():
        store = opened()
        await store.change(pod("a"), put())
        gone = await store.change(pod("a"), remove)
        await store.compact(store.revision)
        await store.close()
        store = opened()
        assert store.revision == gone.revision
        assert (await store.change(pod("a"), put())).revision == gone.revision + 1
        await store.close()

    run(scenario())


def test_the_compacted_revision_never_falls_and_never_passes_the_newest(opened):
    async def scenario():
        store = opened()
        await write(store)
        await store.compact(10)
        await store.compact(5)
        assert store.floor == 10
        await store.compact(1000)
        assert store.floor == store.revision
        await store.close()

    run(scenario())


def test_every_revision_after_compaction_can_be_listed_and_watched(opened):
    async def scenario():
        store = opened()
        taken = [store.list("pods")]
        for change in (put(1), put(2), remove, put(3), remove, put(4)):
            for name in "abc":
                await store.change(pod(name), change)
                taken.append(store.list("pods"))
        events = await read_until(store.watch("pods", None, 1), store.revision)
        for floor in range(2, store.revision + 1):
            await store.compact(floor)
            for snapshot in taken[floor - 1 :]:
                assert store.list_at("pods", None, snapshot.revision) == snapshot
            again = await read_until(store.watch("pods", None, floor), store.revision)
            assert again == [event for event in events if event.object.revision > floor]
        await store.close()

    run(scenario())


def test_compaction_under_load_loses_no_watcher_within_the_window(opened):
    """Watchers start at the compacted revision and read the log while it is pruned; they miss nothing."""

    async def scenario():
        store = opened(watch_queue_events=10_000)
        await write(store, times=10)
        changing = asyncio.gather(*(write(store, keys=name, times=60) for name in "abc"))
        followers = []
        while not changing.done():
            watch = store.watch("pods", None, store.floor)
            followers.append(asyncio.create_task(follow(store, watch, changing)))
            await store.compact(store.revision - 6)
        await changing
        for since, revisions in await asyncio.gather(*followers):
            assert revisions == list(range(since + 1, store.revision + 1))
        assert store.floor > 31, "something was forgotten while they read"
        await store.close()

    run(scenario())


async def follow(store, watch, changing):
    since, revisions = watch.revision, []
    while not changing.done() or watch.revision < store.revision:
        revisions += [event.object.revision for event in await anext(watch)]
    return since, revisions


def test_an_active_watch_continues_behind_the_compacted_revision(opened):
    """New watches may not start there."""

    async def scenario():
        store = opened()
        await write(store)
        reading = store.watch("pods", None, 3)
        await store.compact(store.revision)
        assert store.floor == store.revision
        with pytest.raises(Compacted):
            store.watch("pods", None, 3)
        assert len(await read_until(reading, store.revision)) == store.revision - 3
        await store.close()

    run(scenario())


def test_a_watch_cannot_keep_history_indefinitely(opened):
    """After its lease expires, a slow reader must list again."""

    async def scenario():
        store = opened(catch_up_lease=timedelta(0))
        await write(store)
        reading = store.watch("pods", None, 3)
        await store.compact(store.revision)
        with pytest.raises(Compacted):
            await anext(reading)
        await store.close()

    run(scenario())


def test_an_interrupted_compaction_is_finished_by_the_next(opened, implementation):
    async def scenario():
        store = opened()
        await write(store, times=10)
        compacting = asyncio.create_task(store.compact(store.revision))
        await asyncio.sleep(0)
        compacting.cancel()
        await asyncio.wait([compacting])
        if implementation.durable:
            await store.close()
            store = opened()
        await store.compact(store.revision)
        assert store.floor == store.revision
        assert [value_of(stored) for stored in store.list_at("pods", None, store.revision).objects] == [
            9,
            9,
            9,
        ]
        assert (
            changes_reported(await read_until(store.watch("pods", None, store.revision), store.revision))
            == []
        )
        await store.close()

    run(scenario())
