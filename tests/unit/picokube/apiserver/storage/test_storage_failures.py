"""A disk that is full or broken: callers learn it, memory and file stay as they were."""

import asyncio
import sqlite3
from datetime import timedelta

import pytest

from contract.storage.implementations import pod, put, read_until
from picokube.apiserver.storage.compaction import CompactionPolicy, Compactor
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import Broken, ChangeFailed, Closed, DiskFull, StoreSettings

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
        assert "no space left on device" in str(outcomes[0])
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
        with pytest.raises(Broken, match="until the file can be opened again"):
            await store.change(pod("b"), put(2))
        assert store.get(pod("a")) == stored
        await store.close()

    asyncio.run(scenario())


class _FailsToCommit:
    """The writer's connection on a disk that fails once: before the commit, or after it."""

    def __init__(self, connection, *, is_written):
        self._connection = connection
        self._is_written = is_written
        self.has_failed = False

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, statement, *arguments):
        if statement != "COMMIT" or self.has_failed:
            return self._connection.execute(statement, *arguments)
        self.has_failed = True
        if self._is_written:
            self._connection.execute(statement)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error


@pytest.mark.parametrize("is_written", [False, True], ids=["lost", "written"])
def test_a_disk_that_fails_once_fails_that_change_and_takes_the_next(opened, is_written):
    """E4: after an I/O error it is unknown what was written: the change is undone, and the store recovers by itself."""

    async def scenario():
        store = opened()
        first = await store.change(pod("a"), put(1))
        watch = store.watch("pods", None, store.revision)
        store._log._writer = _FailsToCommit(store._log._writer, is_written=is_written)
        with pytest.raises(ChangeFailed, match="disk I/O error"):
            await store.change(pod("a"), put(2))
        assert store.get(pod("a")) == first
        after = await store.change(pod("a"), put(3))
        assert [event.object for event in await read_until(watch, store.revision)] == [after]
        await store.close()
        store = opened()
        assert store.list("pods").objects == [after]
        await store.close()

    asyncio.run(scenario())


def test_a_file_that_cannot_be_opened_again_is_tried_at_every_change(opened, monkeypatch):
    """E4: a store that lost its file refuses changes, and takes them once the file is there."""

    async def scenario():
        store = opened()
        await store.change(pod("a"), put(1))
        store._log._writer = _FailsToCommit(store._log._writer, is_written=False)
        with monkeypatch.context() as without_descriptors:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN

            def fail(_):
                raise error

            without_descriptors.setattr("picokube.apiserver.storage.log.connect", fail)
            with pytest.raises(Broken, match="until the file can be opened again"):
                await store.change(pod("a"), put(2))
            with pytest.raises(Broken):
                await store.change(pod("b"), put(2))
        stored = await store.change(pod("b"), put(2))
        assert store.get(pod("b")) == stored
        await store.close()

    asyncio.run(scenario())


def test_a_machine_without_room_for_a_thread_fails_the_change_and_takes_the_next(tmp_path, monkeypatch):
    """E4: a writer that could not start is started by the next change; no client waits forever."""

    async def scenario():
        store = SqliteStore.open(tmp_path / "store.db")

        def fail(_):
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as without_threads:
            without_threads.setattr("threading.Thread.start", fail)
            with pytest.raises(ChangeFailed, match="can't start new thread"):
                await store.change(pod("a"), put(1))
        assert await store.change(pod("a"), put(1)) == store.get(pod("a"))
        await store.close()

    asyncio.run(asyncio.wait_for(scenario(), 20))


def test_compaction_gives_space_back_to_the_disk(opened, tmp_path):
    """E15: the file shrinks once what it held is forgotten, in steps."""

    async def scenario():
        store = opened()
        for number in range(60):
            await store.change(pod("a"), put(f"{number}{BIG * 2}"))
        store._log._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = (tmp_path / "store.db").stat().st_size
        store._settings = StoreSettings(release_pages=16, spare_pages=4)
        (before_pages,) = store._log._writer.execute("PRAGMA freelist_count").fetchone()
        assert not store._log.release_pages(1, spare=before_pages), "what is spared stays"
        await store.compact(store.revision)
        (free,) = store._log._writer.execute("PRAGMA freelist_count").fetchone()
        assert free == 4
        store._log._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        after = (tmp_path / "store.db").stat().st_size
        assert after < before / 4, (before, after)
        assert store.get(pod("a")) is not None
        await store.close()

    asyncio.run(scenario())


def test_a_file_of_an_older_version_learns_to_shrink(tmp_path):
    """E15: files that were made without the ability to shrink are rewritten once, with everything in them."""
    path = tmp_path / "store.db"

    async def scenario():
        store = SqliteStore.open(path)
        stored = await store.change(pod("a"), put(1))
        await store.close()
        old = sqlite3.connect(path, isolation_level=None)
        old.execute("PRAGMA journal_mode = DELETE")
        old.execute("PRAGMA auto_vacuum = NONE")
        old.execute("VACUUM")
        assert old.execute("PRAGMA auto_vacuum").fetchone() == (0,)
        old.close()
        store = SqliteStore.open(path)
        assert store._log._writer.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert store.list("pods").objects == [stored]
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


def test_those_who_wait_for_their_turn_are_reported_that_the_store_was_closed(opened):
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
