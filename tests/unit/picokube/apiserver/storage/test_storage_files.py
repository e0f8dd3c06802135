"""Which files are opened, which are refused, and what the refusal says."""

import asyncio
import os
import sqlite3

import pytest

from contract.storage.implementations import pod, put, value_of
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import CannotOpen, Corrupt, InUse, WrongSchema


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def write(path, *, objects=200):
    async def scenario():
        store = SqliteStore.open(path)
        await asyncio.gather(*(store.change(pod(str(n)), put("x" * 2000)) for n in range(objects)))
        await store.close()

    asyncio.run(scenario())


def test_a_store_belongs_to_one_owner_who_is_named(path):
    store = SqliteStore.open(path)
    with pytest.raises(InUse, match=f"in use by process {os.getpid()}"):
        SqliteStore.open(path)
    asyncio.run(store.close())
    asyncio.run(SqliteStore.open(path).close())


def test_a_store_of_another_version_is_refused_with_both_versions(path):
    write(path, objects=1)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(WrongSchema, match="version 99; this program reads version 1"):
        SqliteStore.open(path)


def test_a_foreign_database_is_left_alone(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(WrongSchema, match="not one that this program wrote"):
        SqliteStore.open(path)


def test_a_file_that_is_no_database_is_refused(path):
    path.write_bytes(b"no database at all, but long enough to have a header" * 100)
    with pytest.raises(Corrupt, match=r"store\.db: damaged"):
        SqliteStore.open(path)


def test_a_torn_file_is_refused(path):
    write(path)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(Corrupt, match="put a backup of it in its place"):
        SqliteStore.open(path)


@pytest.mark.parametrize("page", [2, 3, 20, -2])
def test_a_page_of_noise_is_found_when_the_store_is_opened(path, page):
    write(path)
    with path.open("r+b") as file:
        file.seek(page * 8192 if page > 0 else path.stat().st_size + page * 8192)
        file.write(b"\xa5" * 8192)
    with pytest.raises(Corrupt):
        SqliteStore.open(path)


def test_a_refused_file_is_let_go_of(path):
    """After the damage is repaired, the same process can open it."""
    path.write_bytes(b"no database at all, but long enough to have a header" * 100)
    with pytest.raises(Corrupt):
        SqliteStore.open(path)
    path.unlink()
    write(path, objects=1)


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CannotOpen, match="missing"):
        SqliteStore.open(tmp_path / "missing" / "store.db")


def test_a_commit_that_was_torn_off_by_a_power_cut_is_as_if_it_never_was(path, tmp_path):
    """The tail of the write-ahead log is lost: every whole commit before it is there."""

    async def scenario():
        store = SqliteStore.open(path)
        for number in range(20):
            await store.change(pod("a"), put(number))
        crashed = tmp_path / "crashed.db"
        crashed.write_bytes(path.read_bytes())
        wal = path.with_name("store.db-wal").read_bytes()
        crashed.with_name("crashed.db-wal").write_bytes(wal[:-5000])
        await store.close()
        found = SqliteStore.open(crashed)
        assert 0 < value_of(found.get(pod("a"))) < 19
        assert found.revision == value_of(found.get(pod("a"))) + 2
        await found.close()

    asyncio.run(scenario())


def test_commits_are_synced_in_full(path):
    store = SqliteStore.open(path)
    settings = [
        store._log._writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
    ]
    assert settings == ["wal", 2]
    asyncio.run(store.close())
