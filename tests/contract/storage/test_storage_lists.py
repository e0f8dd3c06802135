"""Lists return one resource, one namespace, one revision."""

import pytest

from contract.storage.implementations import job, pod, put, remove, run, value_of
from picokube.apiserver.storage.store import Compacted, Key, NotReached


def names(snapshot):
    return [(stored.key.namespace, stored.key.name) for stored in snapshot.objects]


def test_a_list_is_one_resource_in_key_order(opened):
    async def scenario():
        store = opened()
        for key in (
            pod("b", "two"),
            pod("c", "one"),
            job("a", "one"),
            pod("a", "two"),
            Key("nodes", "", "n"),
        ):
            await store.change(key, put())
        assert names(store.list("pods")) == [("one", "c"), ("two", "a"), ("two", "b")]
        assert names(store.list("nodes")) == [("", "n")]
        assert names(store.list("unheard.of")) == []
        assert store.list("pods").revision == store.revision
        await store.close()

    run(scenario())


def test_namespaces_with_a_common_prefix_are_separate(opened):
    async def scenario():
        store = opened()
        for namespace in ("a", "a-b", "aa", ""):
            await store.change(pod("p", namespace), put())
        for namespace in ("a", "a-b", "aa", ""):
            assert names(store.list("pods", namespace)) == [(namespace, "p")]
            assert names(store.list_at("pods", namespace, store.revision)) == [(namespace, "p")]
        await store.close()

    run(scenario())


def test_a_list_is_a_snapshot(opened):
    async def scenario():
        store = opened()
        await store.change(pod("a"), put(1))
        taken = store.list("pods")
        await store.change(pod("a"), put(2))
        await store.change(pod("b"), put(1))
        assert [value_of(stored) for stored in taken.objects] == [1]
        await store.close()

    run(scenario())


def test_past_revisions_can_be_listed_from_memory_and_from_the_log(opened):
    """The settings keep four events in memory; the oldest of these revisions are only in the log."""

    async def scenario():
        store = opened()
        taken = [store.list("pods")]
        changes = [put(1), put(2), remove, put(3), put(4), put(5), remove, put(6)]
        for change in changes:
            for key in (pod("a"), job("a"), pod("b", "other")):
                await store.change(key, change)
                taken.append(store.list("pods"))
        for snapshot in taken:
            assert store.list_at("pods", None, snapshot.revision) == snapshot
            of_namespace = [stored for stored in snapshot.objects if stored.key.namespace == "other"]
            assert store.list_at("pods", "other", snapshot.revision).objects == of_namespace
        await store.close()

    run(scenario())


def test_a_compacted_or_future_revision_cannot_be_listed(opened):
    async def scenario():
        store = opened()
        for number in range(5):
            await store.change(pod("a"), put(number))
        await store.compact(4)
        assert [value_of(stored) for stored in store.list_at("pods", None, 4).objects] == [2]
        with pytest.raises(Compacted) as gone:
            store.list_at("pods", None, 3)
        assert (gone.value.requested, gone.value.floor) == (3, 4)
        with pytest.raises(NotReached) as early:
            store.list_at("pods", None, 7)
        assert (early.value.requested, early.value.newest) == (7, 6)
        await store.close()

    run(scenario())


def test_dependents_are_found_by_the_uid_of_any_owner(opened):
    async def scenario():
        store = opened()
        await store.change(pod("a"), put(owners=("one", "two")))
        await store.change(job("b"), put(owners=("two",)))
        assert [stored.key for stored in store.owned_by("two")] == [job("b"), pod("a")]
        await store.change(pod("a"), put(owners=("one",)))
        assert [stored.key for stored in store.owned_by("two")] == [job("b")]
        assert [stored.key for stored in store.owned_by("one")] == [pod("a")]
        await store.close()

    run(scenario())
