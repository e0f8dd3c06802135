"""History is deleted after its retention, in small batches, by one process at a time, on every database."""

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa

from contract.store.history_rows import NOON, ended, run, step
from jangar.store.pruning import _TURN
from jangar.store.rows import AuditRow, Before, EventRow, KeyRow, StoredObject

pytestmark = pytest.mark.rule("GC-6")

DAY = 24 * 3600
CUT = Before(runs=NOON + timedelta(days=1))
TABLES = ("runs", "steps", "log_tails", "objects", "events", "audit", "idempotency_keys")


def whole(name, at, **fields):
    return ended(
        name,
        at=at,
        steps=[step(0, "a"), step(1, "b")],
        log_tail="the end",
        whole=StoredObject(obj={"metadata": {"name": name}}, definition=b"x"),
        key=f"key-{name}",
        **fields,
    )


def event(uid, at):
    moment = NOON + timedelta(seconds=at)
    return EventRow(
        uid=uid, type="Normal", reason="R", message="m", source="s", count=1, first_at=moment, last_at=moment
    )


async def counts(history):
    def count(connection):
        return {name: connection.execute(sa.text(f"SELECT count(*) FROM {name}")).scalar() for name in TABLES}  # noqa: S608 - names of ours

    return await history._database.read(count)


async def pruned(history, before=CUT, **how):
    """Prune until nothing is left to prune."""
    rounds = []
    while any((gone := await history.prune(before, **how)).values()):
        rounds.append(dict(gone))
    return rounds


def test_an_expired_run_is_deleted_with_everything_stored_for_it(opened):
    """Steps, object, log, events and key; a run that ended later keeps everything."""

    async def scenario():
        history = opened()
        await history.store([whole("old", 0), whole("new", 2 * DAY)])
        await history.add_events([event("uid-old", 0), event("uid-new", 0)])
        await pruned(history)
        assert await history.run("uid-old") is None
        assert await counts(history) == {
            "runs": 1,
            "steps": 2,
            "log_tails": 1,
            "objects": 1,
            "events": 1,
            "audit": 0,
            "idempotency_keys": 1,
        }
        assert (await history.reserve(key("new", digest="x"))).uid == "uid-new"
        await history.close()

    run(scenario())


def key(name, **fields):
    reported = {
        "namespace": "ci",
        "kind": "OrchestrationRun",
        "key": f"key-{name}",
        "digest": "d",
        "name": name,
    }
    return KeyRow(**reported | {"created_at": NOON} | fields)


def test_a_step_is_deleted_with_its_root_run(opened):
    """However long before it the step ended."""

    async def scenario():
        history = opened()
        top = {"root_uid": "uid-top", "owner_name": "top"}
        await history.store(
            [
                ended("inner", at=0, owner_uid="uid-middle", **top),
                ended("middle", at=10, owner_uid="uid-top", **top),
                ended("top", at=2 * DAY),
                ended("lost", at=0, owner_uid="uid-never", root_uid="uid-never"),
            ]
        )
        await pruned(history)
        assert [bool(await history.run(f"uid-{name}")) for name in ("inner", "middle", "top", "lost")] == [
            True,
            True,
            True,
            False,
        ]
        await pruned(history, Before(runs=NOON + timedelta(days=3)))
        assert (await counts(history))["runs"] == 0
        await history.close()

    run(scenario())


def test_rows_without_a_stored_run_are_deleted(opened):
    """Events of definitions and unused keys; recent ones and audit rows stay."""

    async def scenario():
        history = opened()
        await history.add_events([event("uid-definition", 0), event("uid-young", 2 * DAY)])
        await history.reserve(key("unused"))
        await history.reserve(key("young", created_at=NOON + timedelta(days=2)))
        row = AuditRow(at=NOON, actor="a", action="x", namespace="ci", kind="k", name="n", status=200)
        await history.add_audit([row])
        await pruned(history)
        remaining = await counts(history)
        assert (remaining["events"], remaining["idempotency_keys"], remaining["audit"]) == (1, 1, 1)
        await history.close()

    run(scenario())


def test_one_transaction_deletes_a_bounded_number(opened):
    """Of runs, and of steps, however many a run has."""

    async def scenario():
        history = opened()
        await history.store([whole(f"r{number:03}", number) for number in range(25)])
        rounds = await pruned(history, limit=10)
        assert [item["runs"] for item in rounds if "runs" in item] == [10, 10, 5]
        many = [step(number, f"s{number}") for number in range(6000)]
        await history.store([ended(f"big{number}", steps=many, steps_total=6000) for number in range(3)])
        assert [item["runs"] for item in await pruned(history)] == [1, 1, 1]
        await history.close()

    run(scenario())


def test_one_process_deletes_at_a_time(opened, url):
    """A concurrent process deletes nothing and does not wait."""
    if url.startswith("sqlite"):
        pytest.skip("SQLite allows only one writer")

    async def scenario():
        history, other = opened(), opened()
        await history.store([whole("old", 0)])
        held, done = asyncio.Event(), asyncio.Event()

        async def hold():
            await other.known(())
            async with other._database._engine.begin() as connection:
                await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TURN)))
                held.set()
                await done.wait()

        holder = asyncio.create_task(hold())
        await held.wait()
        assert await history.prune(CUT) == {}
        done.set()
        await holder
        assert (await history.prune(CUT))["runs"] == 1
        await history.close()
        await other.close()

    run(scenario())


def test_writers_are_not_blocked(opened):
    """Ended runs are stored without delay while thousands of expired rows are deleted, and none is lost."""

    async def scenario():
        history, writer = opened(), opened()
        for at in range(0, 3000, 500):
            await history.store([whole(f"old{at + number}", number) for number in range(500)])
        waits = []

        async def write():
            for number in range(40):
                began = asyncio.get_running_loop().time()
                await writer.store([whole(f"new{number}", 2 * DAY)])
                waits.append(asyncio.get_running_loop().time() - began)

        await asyncio.gather(pruned(history), write())
        assert (await counts(history))["runs"] == 40
        assert max(waits) < 5, waits
        await history.close()
        await writer.close()

    run(scenario(), seconds=180)
