"""Behavior of every history implementation."""

import asyncio
from dataclasses import asdict, replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from contract.store.history_rows import NOON, ended, run, step
from jangar.store import tables
from jangar.store.errors import NotHistory
from jangar.store.rows import Listing, LogPart, Position, Query

KIND = "OrchestrationRun"


async def names(history, **query):
    return [item.name for item in await history.page(Query(**query))]


@pytest.mark.rule("GC-6")
def test_a_row_is_read_back_as_it_was_stored(opened):
    """Times with their zone, JSON with its types, steps in their order, the log tail."""
    row = ended(
        "build",
        steps=[step(0, "a", outputs={"x": "1"}, finished_at=NOON), step(1, "b", phase="Failed", attempt=2)],
        log_tail="last words\n",
        started_at=NOON - timedelta(minutes=5),
        reason="Succeeded",
        message="all of it: ü, 漢, 🙂",
        exit_code=0,
        outcome={"exitCode": 0, "nested": {"list": [1, None, True]}},
        outputs={"image": "x:1"},
        owner_uid="uid-parent",
        root_uid="uid-top",
        step="build",
        attempt=3,
        definition="nightly",
        log_location="job/build",
    )

    async def scenario():
        history = opened()
        await history.store([row])
        await history.close()
        again = opened(read_only=True)
        assert await again.run("uid-build") == row.run
        assert tuple(await again.steps("uid-build")) == row.steps
        assert await again.log_tail("uid-build") == "last words\n"
        assert await again.run("uid-other") is None
        assert await again.log_tail("uid-other") is None
        await again.close()

    run(scenario())


@pytest.mark.rule("GC-6")
def test_storing_again_changes_nothing(opened):
    """A writer that died before it received the response stores the same row again."""
    row = ended("a", steps=[step(0, "only")], log_tail="x")

    async def scenario():
        history = opened()
        await history.store([row])
        await history.store([row, row])
        assert await names(history) == ["a"]
        assert tuple(await history.steps("uid-a")) == row.steps
        await history.close()

    run(scenario())


@pytest.mark.rule("GC-6")
def test_a_row_never_goes_backwards(opened):
    """A newer version replaces the row and steps together; a delayed earlier one changes neither."""
    first = ended("a", version=5, steps=[step(0, "one"), step(1, "two")])
    newer = ended("a", version=7, message="CancelIgnored", steps=[step(0, "one", phase="Failed")])

    async def scenario():
        history = opened()
        await history.store([first])
        await history.store([newer])
        await history.store([first])
        assert await history.run("uid-a") == newer.run
        assert tuple(await history.steps("uid-a")) == newer.steps
        await history.close()

    run(scenario())


def test_a_log_tail_stored_later_is_added_and_kept(opened):
    """The row may be stored first; an existing tail is not overwritten."""

    async def scenario():
        history = opened()
        await history.store([ended("a")])
        assert (await history.known(["uid-a"]))["uid-a"].has_log_tail is False
        await history.store([ended("a", log_tail="whole")])
        await history.store([ended("a", log_tail="(no log: gone)"), ended("b")])
        assert await history.log_tail("uid-a") == "whole"
        assert (await history.known(["uid-a"]))["uid-a"].has_log_tail is True
        await history.close()

    run(scenario())


def test_known_rows_are_reported_in_bulk(opened):
    """After a restart all ended runs are looked up."""

    async def scenario():
        history = opened()
        await history.store([ended(f"r{number}", at=number) for number in range(1200)])
        result = await history.known([f"uid-r{number}" for number in range(0, 2400, 2)])
        assert len(result) == 600
        assert result["uid-r8"].updated_at == NOON + timedelta(seconds=8)
        assert await history.known([]) == {}
        await history.close()

    run(scenario())


def test_a_list_continues_after_a_cursor(opened):
    """Newest first; equal times have a defined order, so that no row is left out or shown twice."""
    rows = [ended(f"r{number:02}", at=number // 4) for number in range(40)]

    async def scenario():
        history = opened()
        await history.store(rows)
        expected = sorted(rows, key=lambda item: (item.run.finished_at, item.run.uid), reverse=True)
        received, after = [], None
        while result := await history.page(Query(namespace="ci", limit=7, after=after)):
            received += result
            after = Position(finished_at=result[-1].finished_at, uid=result[-1].uid)
        assert received == [item.run for item in expected]
        await history.close()

    run(scenario())


def test_a_list_applies_its_filters(opened):
    """By namespace, kind, phase, name, owner and age."""
    rows = [
        ended("run", at=1),
        ended("failed", at=2, phase="Failed"),
        ended("child", at=3, kind="ToolRun", owner_uid="uid-run", root_uid="uid-run"),
        ended("alone", at=4, kind="ToolRun", phase="Cancelled"),
        ended("there", at=5, namespace="prod"),
    ]

    async def scenario():
        history = opened()
        await history.store(rows)
        assert await names(history) == ["there", "alone", "failed", "run"]
        assert await names(history, namespace="ci") == ["alone", "failed", "run"]
        assert await names(history, namespace="ci", roots_only=False) == ["alone", "child", "failed", "run"]
        assert await names(history, kinds=("ToolRun",)) == ["alone"]
        assert await names(history, phases=("Failed", "Cancelled")) == ["alone", "failed"]
        assert await names(history, roots_only=False, owner_uid="uid-run") == ["child"]
        assert await names(history, roots_only=False, name="child") == ["child"]
        assert await names(history, finished_after=NOON + timedelta(seconds=4)) == ["there", "alone"]
        await history.close()

    run(scenario())


def test_text_that_the_database_rejects_is_replaced(opened):
    """A program may print anything: NUL is stored as a replacement mark if the database does not support it."""
    row = ended(
        "a", message="a\x00b", log_tail="x\x00", outputs={"k": "v\x00"}, steps=[step(0, "s", message="\x00")]
    )

    async def scenario():
        history = opened()
        await history.store([row])
        result = await history.run("uid-a")
        assert result == replace(row.run, message="a\ufffdb")
        assert await history.log_tail("uid-a") == "x\ufffd"
        await history.close()

    run(scenario())


def test_migrations_keep_stored_rows(opened):
    """Forward from the first version with rows, and back: fields of both versions stay; lists show legacy rows."""
    child = ended("child", kind="ToolRun", owner_uid="uid-old", root_uid="uid-old", log_tail="tail")
    old = ended("old", steps=[step(0, "one"), step(1, "two")], message="Disk FULL")

    async def scenario():
        history = opened()
        await history.migrate("0001")
        await history._database.run(lambda connection: _insert_old(connection, old, child))
        assert await history.version() == "0001"
        assert (await history.run("uid-old")).steps_total == 2
        assert await history.version() == "0002"
        assert (await history.run("uid-child")).owner_name == "old"
        assert [item.name for item in await history.listed(Listing(kind=KIND, text="disk f"))] == ["old"]
        assert await history.whole("uid-old") is None
        await history.store([ended("new", at=5, version=2)])
        await history.migrate("0001")
        assert await history.version() == "0001"
        count = await history._database.run(
            lambda item: item.execute(sa.text("SELECT count(*) FROM runs")).scalar()
        )
        assert count == 3
        assert tuple(await history.steps("uid-old")) == old.steps
        assert await history.log_tail("uid-child") == "tail"
        assert await names(history, namespace="ci") == ["new", "old"]
        await history.close()

    run(scenario())


def _insert_old(connection, *rows):
    """Insert rows as the first version stored them."""
    known = {column["name"] for column in sa.inspect(connection).get_columns("runs")}
    runs = sa.Table(
        "runs", sa.MetaData(), *(sa.Column(c.name, c.type) for c in tables.RUNS.c if c.name in known)
    )
    for row in rows:
        made = {name: value for name, value in asdict(row.run).items() if name in known}
        connection.execute(sa.insert(runs), made)
        for one in row.steps:
            connection.execute(sa.insert(tables.STEPS), {"run_uid": row.run.uid, **asdict(one)})
        if row.log_tail:
            tail = {"uid": row.run.uid, "text": row.log_tail}
            connection.execute(sa.text("INSERT INTO log_tails (uid, text) VALUES (:uid, :text)"), tail)


def test_migrations_run_forward_and_back(opened):
    """Back to an empty database and forward again; a reader reports an error instead of changing anything."""

    async def scenario():
        history = opened()
        assert await history.version() is None
        await history.store([ended("a")])
        assert await history.version() == "0002"
        await history.migrate("base")
        reader = opened(read_only=True)
        with pytest.raises(NotHistory):
            await reader.page(Query())
        await reader.close()
        await history.store([ended("b")])
        assert await names(history) == ["b"]
        await history.close()

    run(scenario())


def test_several_writers_migrate_one_database_together(opened):
    """Processes that start together do not disturb each other's migration."""

    async def scenario():
        histories = [opened() for _ in range(4)]
        await asyncio.gather(*(item.store([ended(f"r{at}")]) for at, item in enumerate(histories)))
        assert sorted(await names(histories[0])) == ["r0", "r1", "r2", "r3"]
        for history in histories:
            await history.close()

    run(scenario())


def test_the_tables_match_the_code(opened):
    """The schema of the migrations equals the one that the queries use."""
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415
    from alembic.migration import MigrationContext  # noqa: PLC0415

    from jangar.store.migrations.running import VERSION_TABLE  # noqa: PLC0415
    from jangar.store.tables import metadata  # noqa: PLC0415

    def differences(connection):
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return compare_metadata(context, metadata)

    async def scenario():
        history = opened()
        await history.store([ended("a")])
        assert await history._database.run(differences) == []
        await history.close()

    run(scenario())


@pytest.mark.rule("GC-6")
def test_job_logs_are_kept_until_the_run_is_stored(opened):
    """Each Job's log once, in order of arrival, from any writer; then they become part of the run's log."""
    first, second = LogPart(job="a", text="one \x00\n"), LogPart(job="b", text="two 🙂\n")

    async def scenario():
        history = opened()
        await history.add_log_parts("uid-build", [first])
        await history.add_log_parts("uid-build", [])
        await history.add_log_parts("uid-build", [replace(first, text="another"), second])
        assert await history.log_parts("uid-build") == [first, second]
        assert await history.log_tail("uid-build") == first.text + second.text
        assert await history.log_parts("uid-other") == []
        await history.store([ended("build")])
        assert await history.log_tail("uid-build") == first.text + second.text
        await history.store([ended("build", log_tail="all of it\n")])
        await history.add_log_parts("uid-build", [first])
        assert await history.log_parts("uid-build") == []
        assert await history.log_tail("uid-build") == "all of it\n"
        await history.close()

    run(scenario())


@pytest.mark.rule("GC-6")
def test_the_oldest_job_logs_are_dropped(opened):
    """A loop of a thousand Jobs uses bounded space."""

    async def scenario():
        history = opened()
        for number in range(8):
            await history.add_log_parts("uid-loop", [LogPart(job=str(number), text="x" * 200_000)])
        assert [log_part.job for log_part in await history.log_parts("uid-loop")] == ["3", "4", "5", "6", "7"]
        await history.close()

    run(scenario())
