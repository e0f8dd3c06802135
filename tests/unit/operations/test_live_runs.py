"""Changes of runs: listeners miss none, get none twice, and get a reset after too long an absence."""

import asyncio
from contextlib import aclosing

import orjson

from jangar.operations import live_runs
from jangar.operations.live_runs import LiveRuns
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import Cached


def run(name, version, phase="Running", retry_of=None):
    return Cached.of(
        {
            "metadata": {
                "namespace": "n",
                "name": name,
                "uid": f"uid-{name}",
                "resourceVersion": str(version),
                "creationTimestamp": f"2026-02-07T00:00:{len(name):02}Z",
            },
            "spec": {"retryOf": {"name": retry_of}} if retry_of else {},
            "status": {"phase": phase},
        }
    )


def runs() -> LiveRuns:
    # No API is called: the test puts objects into the cache as a watch would.
    return LiveRuns(None, Namespaces.every(), lambda _, __, row: orjson.dumps(row))  # type: ignore[arg-type]


async def received(live, after, count):
    async with asyncio.timeout(5), aclosing(live.changes(after)) as changes:
        found = []
        while len(found) < count:
            for change in await anext(changes):
                row = orjson.loads(change.written)
                found.append((change.kind, row.get("name"), row.get("phase")))
        return found


def test_a_reconnecting_listener_gets_the_changes_it_missed():
    """In order, from the position of a list."""
    live = runs()
    live.informer.cache.upsert(run("a", 1))
    position = live.position
    live.informer.cache.upsert(run("a", 2, "Succeeded"))
    live.informer.cache.upsert(run("bb", 3))
    live.informer.cache.remove_observed(run("bb", 4))
    assert asyncio.run(received(live, position, 3)) == [
        ("run", "a", "Succeeded"),
        ("run", "bb", "Running"),
        ("gone", "bb", None),
    ]


def test_what_a_row_does_not_show_is_no_change():
    """A new version with the same row is not published."""
    live = runs()
    live.informer.cache.upsert(run("a", 1))
    position = live.position
    live.informer.cache.upsert(run("a", 2))
    assert live.position == position


def test_a_foreign_or_too_old_position_gets_a_reset():
    """A reset, rather than a gap."""
    live = runs()
    for number in range(live_runs.MAX_REMEMBERED + 10):
        live.informer.cache.upsert(run("a", number + 1, "Running" if number % 2 else "Pending"))
    life = live.position.partition("-")[0]
    for position in ("other-1", f"{life}-1", f"{life}-999999", f"{life}-x", "nonsense"):
        assert asyncio.run(received(live, position, 1)) == [("reset", None, None)]


def test_a_slow_listener_gets_a_reset():
    """Its queue is bounded, so it costs the others nothing."""
    live = runs()

    async def slow():
        async with aclosing(live.changes(None)) as changes:
            first = asyncio.ensure_future(anext(changes))
            await asyncio.sleep(0)
            for number in range(live_runs.MAX_QUEUED + 2):
                live.informer.cache.upsert(run("a", number + 1, "Running" if number % 2 else "Pending"))
            return [change.kind for change in await first] + [
                change.kind async for some in changes for change in some
            ]

    kinds = asyncio.run(slow())
    assert kinds[-1] == "reset"
    assert live.listeners == 0


def test_the_newest_come_first():
    """Rows are sorted by creation time."""
    live = runs()
    for name in ("ccc", "a", "bb"):
        live.informer.cache.upsert(run(name, 1))
    assert [row["name"] for row in live.newest_first()] == ["ccc", "bb", "a"]


def test_a_run_knows_the_live_runs_that_retry_it():
    """Oldest first; watchers of the run are notified of new and deleted retries (C4)."""
    live = runs()
    live.informer.cache.upsert(run("a", 1, "Failed"))
    with live.change_event("n", "a") as changed:
        live.informer.cache.upsert(run("ccc", 2, retry_of="a"))
        assert changed.is_set()
        live.informer.cache.upsert(run("bb", 3, retry_of="a"))
        assert live.retries_of("n", "a") == ["bb", "ccc"]
        changed.clear()
        live.informer.cache.remove_observed(run("bb", 4, retry_of="a"))
        assert changed.is_set()
    assert live.retries_of("n", "a") == ["ccc"]
    assert live.retries_of("elsewhere", "a") == []
