"""What shares a transaction, and what is kept in memory."""

import asyncio

import pytest

from contract.storage.implementations import pod, put, run
from picokube.apiserver.storage.broadcaster import History
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import Event, EventType, Key, Stored, StoreSettings


def test_changes_of_different_keys_share_a_transaction(tmp_path):
    async def scenario():
        store = SqliteStore.open(tmp_path / "store.db", StoreSettings(inline=True, batch_changes=10))
        statements = []
        store._log._writer.set_trace_callback(statements.append)
        await asyncio.gather(*(store.change(pod(str(n)), put()) for n in range(25)))
        assert statements.count("COMMIT") == 3
        inserts = [statement for statement in statements if statement.startswith("INSERT")]
        assert [insert.count("'uid'") for insert in inserts] == [8, 2, 8, 2, 4, 1]
        await store.close()

    run(scenario())


def test_the_same_calls_give_the_same_log_when_committed_inline():
    """What simulations rely on: no thread, no clock, no rng."""

    async def scenario():
        store = SqliteStore.open(":memory:")
        await asyncio.gather(*(store.change(pod(str(n % 5)), put(n)) for n in range(50)))
        rows = store._log._writer.execute("SELECT * FROM log").fetchall()
        await store.close()
        return rows

    assert asyncio.run(scenario()) == asyncio.run(scenario())


def event(revision, *, size=10):
    stored = Stored(key=pod("a"), uid="uid", revision=revision, data=b"x" * size)
    return Event(type=EventType.MODIFIED, object=stored)


@pytest.mark.parametrize(
    ("sizes", "start"),
    [
        pytest.param([10] * 4, 1, id="everything-fits"),
        pytest.param([10] * 6, 3, id="too-many"),
        pytest.param([10, 20, 45, 45], 3, id="too-large"),
        pytest.param([200], 2, id="one-alone-is-too-large"),
    ],
)
def test_the_oldest_events_leave_memory_first(sizes, start):
    history = History(1, events=4, size=100)
    for revision, size in enumerate(sizes, start=2):
        history.add(event(revision, size=size))
    assert history.start == start
    kept = [event.object.revision for event in history.newest_first("pods", None, start)]
    assert kept == list(range(len(sizes) + 1, start, -1))


def test_objects_share_the_words_they_have_in_common(tmp_path):
    """Ten thousand keys of one namespace hold one string for it, whether they came from the API or the file."""

    async def scenario():
        store = SqliteStore.open(tmp_path / "store.db")
        for number in range(3):
            resource, namespace, name = f"pods default {number}".split()
            await store.change(Key(resource, namespace, name), put())
        assert len({id(stored.key.namespace) for stored in store.list("pods").objects}) == 1
        await store.close()
        store = SqliteStore.open(tmp_path / "store.db")
        assert len({id(stored.key.resource) for stored in store.list("pods").objects}) == 1
        await store.close()

    run(scenario())
