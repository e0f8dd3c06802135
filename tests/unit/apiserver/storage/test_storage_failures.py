"""A disk that is full or broken: callers learn it, memory and file stay as they were."""

import asyncio
import sqlite3
from datetime import timedelta

import pytest

from contract.storage.implementations import pod, put, read_until
from jangar.apiserver.storage.compaction import CompactionPolicy, Compactor
from jangar.apiserver.storage.errors import Broken, ChangeFailed, Closed, DiskFull
from jangar.apiserver.storage.settings import StoreSettings
from jangar.apiserver.storage.sqlite_store import SqliteStore

BIG = "x" * 50_000


def fill(store):
    """No page may be added any more; what fits into the existing ones still does."""
    pages = store._log._writer.execute("PRAGMA page_count").fetchone()[0]
    store._log._writer.execute(f"PRAGMA max_page_count = {pages}")


def make_room(store):
    store._log._writer.execute("PRAGMA max_page_count = 1000000")


@pytest.fixture(params=[False, True], ids=["thread", "inline"])
def opened(request, tmp_path):
    return lambda: SqliteStore.open(tmp_path / "store.db", StoreSettings(inline=request.param))


def test_a_full_disk_fails_the_changes_that_wait_and_nothing_else(opened):
    async def scenario():
        store = opened()
        await store.change(pod("a"), put(1))
        watch = store.watch("pods", None, store.revision)
        before = store.revision, store.list("pods")
        fill(store)
        changes = (store.change(pod(name), put(BIG)) for name in "abcd")
        outcomes = await asyncio.gather(*changes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [DiskFull] * 4
        assert len({id(outcome) for outcome in outcomes}) == 4, "a traceback belongs to one caller"
        assert "no room for the change" in str(outcomes[0])
        assert isinstance(outcomes[0].__cause__, sqlite3.OperationalError)
        assert (store.revision, store.list("pods")) == before
        make_room(store)
        stored = await store.change(pod("a"), put(2))
        assert stored.revision > before[0] + 4, "what was promised to a failed change is not given again"
        assert [event.object for event in await read_until(watch, store.revision)] == [stored]
        await store.close()
        store = opened()
        assert store.list("pods").objects == [stored]
        assert store.revision == stored.revision
        await store.close()

    asyncio.run(scenario())


def test_a_change_fails_for_a_caller_who_has_gone_without_a_sound(opened):
    async def scenario():
        store = opened()
        fill(store)
        gone = asyncio.create_task(store.change(pod("a"), put(BIG)))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        make_room(store)
        await store.change(pod("a"), put(1))
        await store.close()

    asyncio.run(scenario())


def test_a_broken_file_stops_all_changes_while_reads_go_on(opened, tmp_path):
    """Whether the last transaction is in the file is unknown, so nothing more is promised."""

    async def scenario():
        store = opened()
        stored = await store.change(pod("a"), put(1))
        other = sqlite3.connect(tmp_path / "store.db")
        other.execute("DROP TABLE log")
        other.close()
        with pytest.raises(Broken, match="no such table"):
            await store.change(pod("a"), put(2))
        with pytest.raises(Broken, match="until the store is opened again"):
            await store.change(pod("b"), put(2))
        assert store.get(pod("a")) == stored
        await store.close()

    asyncio.run(scenario())


def test_a_file_that_others_lock_fails_a_change_and_takes_the_next(opened, tmp_path):
    async def scenario():
        store = opened()
        store._log._writer.execute("PRAGMA busy_timeout = 1")
        other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ChangeFailed, match="database is locked"):
            await store.change(pod("a"), put(1))
        other.execute("ROLLBACK")
        other.close()
        assert await store.change(pod("a"), put(1)) == store.get(pod("a"))
        await store.close()

    asyncio.run(scenario())


def test_those_who_wait_for_their_turn_are_told_that_the_store_was_closed(opened):
    async def scenario():
        store = opened()
        first, *others = [asyncio.create_task(store.change(pod("a"), put(n))) for n in range(4)]
        await asyncio.sleep(0)
        await store.close()
        await first
        outcomes = await asyncio.gather(*others, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Closed] * 3

    asyncio.run(scenario())


async def until(happened):
    for _ in range(10_000):
        if happened():
            return
        await asyncio.sleep(0.001)
    pytest.fail("it did not happen")


def test_the_compactor_outlives_a_failure_and_ends_with_the_store(opened, caplog):
    async def scenario():
        store = opened()
        await asyncio.gather(*(store.change(pod("a"), put(n)) for n in range(10)))
        store._log._writer.execute("PRAGMA busy_timeout = 1")
        other = sqlite3.connect(store._log.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        policy = CompactionPolicy(at_least=1, age=timedelta(0), every=timedelta(milliseconds=1))
        compacting = asyncio.create_task(Compactor(store, policy).run())
        await until(lambda: caplog.records)
        other.execute("ROLLBACK")
        other.close()
        await until(lambda: store._log._reader.execute("SELECT count(*) FROM log").fetchone() == (2,))
        await store.close()
        await compacting

    asyncio.run(asyncio.wait_for(scenario(), 20))
    assert caplog.records[0].message == "compaction postponed"
