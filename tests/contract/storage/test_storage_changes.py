"""Guarantees of a change for its caller and for others."""

import asyncio

import pytest

from contract.storage.implementations import leave, pod, put, read_until, remove, run, value_of
from picokube.apiserver.storage.store import Closed, Put


class Refused(Exception):
    pass


def refuse(_):
    raise Refused


def increment(before):
    return put((value_of(before) if before else 0) + 1)(before)


def test_an_empty_store_is_at_a_revision_that_clients_can_watch_from(opened):
    """Revision 0 means "any" in Kubernetes, so no list has revision 0."""

    async def scenario():
        store = opened()
        assert (store.revision, store.floor) == (1, 1)
        assert store.list("pods") == (1, [])
        await store.close()

    run(scenario())


def test_a_change_is_visible_to_the_next_read(opened):
    async def scenario():
        store = opened()
        stored = await store.change(pod("a"), put("one", labels={"app": "web"}, owners=("owner",)))
        assert store.get(pod("a")) == stored
        assert (value_of(stored), stored.uid, stored.labels, stored.owners) == (
            "one",
            "uid",
            {"app": "web"},
            ("owner",),
        )
        assert store.revision == stored.revision == 2
        await store.close()

    run(scenario())


def test_every_change_has_its_own_revision(opened):
    async def scenario():
        store = opened()
        first = await store.change(pod("a"), put(1))
        assert await store.change(pod("a"), leave) == first
        assert await store.change(pod("b"), leave) is None
        assert await store.change(pod("b"), remove) is None
        assert store.revision == first.revision
        assert (await store.change(pod("a"), put(2))).revision == first.revision + 1
        await store.close()

    run(scenario())


def test_a_removed_object_is_returned_in_its_last_state(opened):
    async def scenario():
        store = opened()
        await store.change(pod("a"), put(1, labels={"app": "web"}, owners=("owner",)))
        last = await store.change(pod("a"), remove)
        assert (value_of(last), last.revision, last.labels, last.owners) == (
            None,
            3,
            {"app": "web"},
            ("owner",),
        )
        assert store.get(pod("a")) is None
        assert store.list("pods").objects == []
        assert store.owned_by("owner") == []
        assert (await store.change(pod("a"), put(2))).revision == 4
        await store.close()

    run(scenario())


def test_changes_of_one_object_are_serialized(opened):
    """Each receives the result of the previous one: no update is lost."""

    async def scenario():
        store = opened()
        await asyncio.gather(*(store.change(pod("a"), increment) for _ in range(20)))
        assert value_of(store.get(pod("a"))) == 20
        assert store.revision == 21
        await store.close()

    run(scenario())


def test_an_error_is_raised_only_to_its_caller(opened):
    async def scenario():
        store = opened()
        outcomes = await asyncio.gather(
            store.change(pod("a"), increment),
            store.change(pod("a"), refuse),
            store.change(pod("a"), increment),
            store.change(pod("b"), increment),
            return_exceptions=True,
        )
        assert isinstance(outcomes[1], Refused)
        assert value_of(store.get(pod("a"))) == 2
        assert value_of(store.get(pod("b"))) == 1
        assert store.revision == 4
        await store.close()

    run(scenario())


def test_a_failed_rendering_changes_nothing(opened):
    async def scenario():
        store = opened()
        with pytest.raises(Refused):
            await store.change(pod("a"), lambda _: Put(uid="uid", render=refuse))
        assert store.get(pod("a")) is None
        assert (await store.change(pod("a"), put(1))).revision == 2
        await store.close()

    run(scenario())


@pytest.mark.parametrize("turns", range(4))
def test_a_cancelled_caller_leaves_a_complete_change_or_none(opened, turns):
    """At any moment: the object, the revision and the watchers agree, and the next change proceeds."""

    async def scenario():
        store = opened()
        watch = store.watch("pods", None, store.revision)
        callers = [asyncio.create_task(store.change(pod("a"), increment)) for _ in range(5)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for caller in callers[::2]:
            caller.cancel()
        await asyncio.wait(callers)
        await store.change(pod("a"), increment)
        count = value_of(store.get(pod("a")))
        events = await read_until(watch, store.revision)
        assert [value_of(event.object) for event in events] == list(range(1, count + 1))
        assert 3 <= count <= 6
        await store.close()

    run(scenario())


def test_closing_commits_queued_changes_and_accepts_no_more(opened):
    async def scenario():
        store = opened()
        queued = [asyncio.create_task(store.change(pod(str(number)), put())) for number in range(10)]
        await asyncio.sleep(0)
        await store.close()
        assert [stored.key.name for stored in await asyncio.gather(*queued)] == [
            str(number) for number in range(10)
        ]
        with pytest.raises(Closed):
            await store.change(pod("late"), put())
        with pytest.raises(Closed):
            await store.compact(1)
        await store.close()

    run(scenario())


def test_committed_changes_survive_reopening(opened, implementation):
    if not implementation.durable:
        pytest.skip("in memory")

    async def scenario():
        store = opened()
        await store.change(pod("a"), put(1, labels={"app": "web"}, owners=("owner",)))
        await store.change(pod("b"), put(2))
        await store.change(pod("b"), remove)
        before = store.revision, store.list("pods"), store.owned_by("owner")
        await store.close()
        store = opened()
        assert (store.revision, store.list("pods"), store.owned_by("owner")) == before
        assert (await store.change(pod("c"), put(3))).revision == before[0] + 1
        await store.close()

    run(scenario())
