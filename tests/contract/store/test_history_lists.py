"""Lists by creation, whole objects, events, the audit trail and idempotency keys, on every database."""

from dataclasses import replace
from datetime import timedelta

import pytest

from contract.store.history_rows import NOON, ended, run
from jangar.store.rows import AuditRow, Before, EventRow, KeyRow, Listing, Place, StoredObject

KIND = "OrchestrationRun"


def created(name, at, **fields):
    return ended(name, at=at, created_at=NOON + timedelta(seconds=at), **fields)


async def names(history, **listing):
    return [item.name for item in await history.listed(Listing(kind=KIND, **listing))]


def test_a_list_by_creation_continues_after_a_cursor(opened):
    """Also if several runs were created in one second and namespaces and phases are read one by one."""
    rows = [
        created(
            f"r{number:02}",
            number // 4,
            namespace=f"n{number % 3}",
            phase=("Failed", "Succeeded")[number % 2],
        )
        for number in range(40)
    ]

    async def scenario():
        history = opened()
        await history.store(rows)
        for filters in ({}, {"namespaces": ("n0", "n2"), "phases": ("Failed", "Succeeded")}):
            wanted = [
                row
                for row in sorted(rows, key=lambda item: (item.run.created_at, item.run.uid), reverse=True)
                if row.run.namespace in filters.get("namespaces", ("n0", "n1", "n2"))
            ]
            uids, after = [], None
            while page := await history.listed(Listing(kind=KIND, limit=7, after=after, **filters)):
                uids += [item.uid for item in page]
                after = Place(created_at=page[-1].created_at, uid=page[-1].uid)
            assert uids == [item.run.uid for item in wanted]
        await history.close()

    run(scenario())


def test_a_list_by_creation_applies_its_filters(opened):
    """By namespace, phase, definition, case-insensitive text, age, and whether it is a step of another run."""
    rows = [
        created("plain", 1, definition="nightly"),
        created("failed", 2, phase="Failed", message="the Disk is FULL (50%)", definition="weekly"),
        created("inner", 3, owner_uid="uid-plain", owner_name="plain"),
        created("there", 4, namespace="prod", definition="Straße"),
        created("tool", 5, kind="ToolRun"),
    ]

    async def scenario():
        history = opened()
        await history.store(rows)
        assert await names(history) == ["there", "failed", "plain"]
        assert await names(history, roots_only=False) == ["there", "inner", "failed", "plain"]
        assert await names(history, namespaces=("ci",)) == ["failed", "plain"]
        assert await names(history, namespaces=()) == []
        assert await names(history, phases=("Failed",)) == ["failed"]
        assert await names(history, definition="weekly") == ["failed"]
        assert await names(history, text="disk is full (50%") == ["failed"]
        assert await names(history, text="STRASSE") == ["there"]
        assert await names(history, text="%") == ["failed"]
        assert await names(history, created_after=NOON + timedelta(seconds=2)) == ["there", "failed"]
        assert await history.namespaces(KIND) == ["ci", "prod"]
        await history.close()

    run(scenario())


def test_a_stored_object_is_read_back_completely(opened):
    """With its executed definition, which a later update of the row keeps."""
    obj = {"metadata": {"name": "a", "labels": {"x": "ü"}}, "status": {"stepStatuses": [{"name": "s"}]}}

    async def scenario():
        history = opened()
        await history.store([ended("a", version=1, whole=StoredObject(obj=obj, definition=b"\x1f\x8b"))])
        assert await history.whole("uid-a") == StoredObject(obj=obj, definition=b"\x1f\x8b")
        later = obj | {"status": {}}
        await history.store([ended("a", version=2, whole=StoredObject(obj=later))])
        await history.store([ended("a", version=1, whole=StoredObject(obj=obj))])
        assert await history.whole("uid-a") == StoredObject(obj=later, definition=b"\x1f\x8b")
        assert await history.whole("uid-b") is None
        await history.close()

    run(scenario())


def event(reason, count=1, at=0, uid="uid-a"):
    reported = NOON + timedelta(seconds=at)
    return EventRow(
        uid=uid,
        type="Normal",
        reason=reason,
        message="m",
        source="s",
        count=count,
        first_at=NOON,
        last_at=reported,
    )


def test_a_repeated_report_is_one_event(opened):
    """With the higher count, whichever arrived last."""

    async def scenario():
        history = opened()
        await history.add_events([event("Started"), event("Succeeded", at=3), event("Other", uid="uid-b")])
        await history.add_events([event("Started", count=4, at=5)])
        await history.add_events([event("Started", count=2, at=2)])
        assert await history.events("uid-a", 10) == [
            event("Succeeded", at=3),
            event("Started", count=4, at=5),
        ]
        assert await history.events("uid-a", 1) == [event("Started", count=4, at=5)]
        await history.close()

    run(scenario())


def test_the_audit_trail_is_ordered_and_bounded(opened):
    """Newest first, page by page, by namespace; expired entries are deleted."""
    rows = [
        AuditRow(
            at=NOON + timedelta(seconds=number),
            actor="ann",
            action="cancel",
            namespace=f"n{number % 2}",
            kind=KIND,
            name=f"r{number}",
            status=200,
        )
        for number in range(6)
    ]

    async def scenario():
        history = opened()
        await history.add_audit(rows[:3])
        await history.add_audit(rows[3:])
        entries = await history.audit(None, None, 4)
        assert [replace(item, number=None) for item in entries] == rows[:1:-1]
        assert [item.name for item in await history.audit(None, entries[-1].number, 4)] == ["r1", "r0"]
        assert [item.name for item in await history.audit(["n1"], None, 10)] == ["r5", "r3", "r1"]
        await history.prune(Before(audits=NOON + timedelta(seconds=4)))
        assert [item.name for item in await history.audit(None, None, 10)] == ["r5", "r4"]
        await history.close()

    run(scenario())


def key(text, **fields):
    reported = {"namespace": "ci", "kind": KIND, "key": text, "digest": "d1", "name": f"run-{text}"}
    return KeyRow(**reported | {"created_at": NOON} | fields)


def test_a_key_belongs_to_one_namespace_and_kind(opened):
    """A repeated request gets the first request and its result."""

    async def scenario():
        history = opened()
        assert await history.reserve(key("k")) == key("k")
        assert await history.reserve(key("k", digest="d2")) == key("k")
        assert await history.reserve(key("k", namespace="prod", digest="d3")) == key(
            "k", namespace="prod", digest="d3"
        )
        assert await history.reserve(key("k", kind="AgentRun", digest="d4")) == key(
            "k", kind="AgentRun", digest="d4"
        )
        await history.settle(key("k", uid="uid-1"))
        await history.forget(key("k"))
        assert (await history.reserve(key("k", digest="d5"))).uid == "uid-1"
        await history.forget(key("k", kind="AgentRun"))
        assert (await history.reserve(key("k", kind="AgentRun", digest="d6"))).digest == "d6"
        await history.close()

    run(scenario())


@pytest.mark.rule("GC-6")
def test_a_key_outlives_its_object(opened):
    """A run's end is stored with its key before the run may be deleted."""

    async def scenario():
        history = opened()
        await history.reserve(key("reserved"))
        await history.store([ended("a", key="reserved"), ended("b", key="by-kubectl")])
        assert (await history.reserve(key("reserved"))).uid == "uid-a"
        assert (await history.reserve(key("by-kubectl"))).uid == "uid-b"
        await history.close()

    run(scenario())


@pytest.mark.rule("GC-6")
def test_expired_log_tails_are_deleted(opened):
    """Like the files."""

    async def scenario():
        history = opened()
        await history.store([ended("a", log_tail="x")])
        await history.prune(Before(tails=NOON - timedelta(days=365 * 20)))
        assert await history.log_tail("uid-a") == "x"
        await history.prune(Before(tails=NOON + timedelta(days=365 * 20)))
        assert await history.log_tail("uid-a") is None
        await history.close()

    run(scenario())
