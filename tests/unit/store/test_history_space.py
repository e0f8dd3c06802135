"""History on a disk that is full: what became of work comes first, and deleted rows give their space back."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from contract.store.history_rows import ended
from jangar.store.database_history import NO_SPACE, DatabaseHistory
from jangar.store.errors import NoSpace
from jangar.store.rows import Before
from jangar.store.urls import SqliteFile


def limit(history, more):
    """So many pages may be added, and no more."""
    connection = history._database._engine.raw_connection().driver_connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + more}")


def test_a_full_disk_costs_the_log_and_not_the_outcome(tmp_path):
    """The row of the run is stored with a line that says why its log is not."""

    async def scenario():
        history = DatabaseHistory(SqliteFile(tmp_path / "history.sqlite"))
        first = ended("first")
        await history.store([first])
        limit(history, 4)
        second = ended("second", log_tail="x" * 500_000)
        await history.store([second])
        found = await history.run(second.run.uid)
        assert found is not None
        assert found.phase == second.run.phase
        assert await history.log_tail(second.run.uid) == NO_SPACE
        limit(history, 0)
        with pytest.raises(NoSpace):
            await history.store([ended(f"more-{number}", steps=()) for number in range(500)])
        await history.close()

    asyncio.run(scenario())


def test_deleted_rows_give_their_space_back(tmp_path):
    """The file of history shrinks once what it held is deleted."""

    async def scenario():
        path = tmp_path / "history.sqlite"
        history = DatabaseHistory(SqliteFile(path))
        await history.store([ended(f"run-{number}", log_tail="x" * 100_000) for number in range(60)])
        await history.close()
        before = path.stat().st_size
        history = DatabaseHistory(SqliteFile(path))
        tomorrow = datetime.now(UTC) + timedelta(days=36_500)
        while any((await history.prune(Before(runs=tomorrow))).values()):
            pass
        await history.close()
        assert path.stat().st_size < before / 2

    asyncio.run(scenario())
