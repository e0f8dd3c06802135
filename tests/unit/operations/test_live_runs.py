"""Changes of runs as listeners hear them: none missed, none twice, and who was away too long begins anew."""

import asyncio
from contextlib import aclosing

import orjson

from jangar.operations import live_runs
from jangar.operations.live_runs import LiveRuns
from kubekit.cache.cached_object import Cached
from kubekit.cache.namespaces import Namespaces


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
    # Nothing is asked: the cache is told by hand what a watch would tell it.
    return LiveRuns(None, Namespaces.every(), lambda _, __, row: orjson.dumps(row))  # type: ignore[arg-type]


async def heard(live, after, count):
    async with asyncio.timeout(5), aclosing(live.changes(after)) as changes:
        found = []
        while len(found) < count:
            for reported in await anext(changes):
                row = orjson.loads(reported.written)
                found.append((reported.kind, row.get("name"), row.get("phase")))
        return found


def test_who_was_away_hears_what_was_missed():
    """From the position of a list on, in order."""
    live = runs()
    live.informer.cache.upsert(run("a", 1))
    position = live.position
    live.informer.cache.upsert(run("a", 2, "Succeeded"))
    live.informer.cache.upsert(run("bb", 3))
    live.informer.cache.remove_observed(run("bb", 4))
    assert asyncio.run(heard(live, position, 3)) == [
        ("run", "a", "Succeeded"),
        ("run", "bb", "Running"),
        ("gone", "bb", None),
    ]


def test_what_a_row_does_not_show_is_no_change():
    """A new version with the same row is told to nobody."""
    live = runs()
    live.informer.cache.upsert(run("a", 1))
    position = live.position
    live.informer.cache.upsert(run("a", 2))
    assert live.position == position


def test_another_life_or_too_long_an_absence_begins_anew():
    """A reset says so, rather than leaving a gap."""
    live = runs()
    for number in range(live_runs.MAX_REMEMBERED + 10):
        live.informer.cache.upsert(run("a", number + 1, "Running" if number % 2 else "Pending"))
    life = live.position.partition("-")[0]
    for position in ("other-1", f"{life}-1", f"{life}-999999", f"{life}-x", "nonsense"):
        assert asyncio.run(heard(live, position, 1)) == [("reset", None, None)]


def test_a_listener_that_does_not_keep_up_is_reported_to_begin_anew():
    """It costs the others nothing: what waits for one is bounded."""
    live = runs()

    async def slow():
        async with aclosing(live.changes(None)) as changes:
            first = asyncio.ensure_future(anext(changes))
            await asyncio.sleep(0)
            for number in range(live_runs.MAX_QUEUED + 2):
                live.informer.cache.upsert(run("a", number + 1, "Running" if number % 2 else "Pending"))
            return [reported.kind for reported in await first] + [
                reported.kind async for some in changes for reported in some
            ]

    kinds = asyncio.run(slow())
    assert kinds[-1] == "reset"
    assert live.listeners == 0


def test_the_newest_come_first():
    """By creation."""
    live = runs()
    for name in ("ccc", "a", "bb"):
        live.informer.cache.upsert(run(name, 1))
    assert [row["name"] for row in live.newest_first()] == ["ccc", "bb", "a"]


def test_a_run_knows_the_live_runs_that_retry_it():
    """C4: the oldest first; whoever follows the run hears of a new retry, and of one that goes."""
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
