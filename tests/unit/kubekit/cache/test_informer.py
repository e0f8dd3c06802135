"""What an informer promises while lists and watches fail in every way they can."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from kubekit.cache.informer import Informer, Pace
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.errors import Ambiguous, Expired, NotSent, ServerFailure, TooManyRequests
from support.scripted_api import THINGS, CutAfter, DeadAfter, ScriptedApi
from support.virtual_time import run_virtual

USUAL = Pace()


@asynccontextmanager
async def an_informer(api, *, namespaces="*", random=lambda: 0.5, pace=USUAL, labels=""):
    informer = Informer(
        Client(api, manager="test"),
        THINGS,
        namespaces=Namespaces.parse(namespaces),
        random=random,
        pace=pace,
        labels=labels,
    )
    informer.notified = []
    informer.subscribe(lambda change: informer.notified.append((change.kind, change.subject.name)))
    running = asyncio.create_task(informer.run())
    try:
        yield informer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert api.open_streams == 0


def versions(informer):
    return {(item.namespace, item.name): item.resource_version for item in informer.cache.all()}


def request_kinds(api):
    return [kind for kind, _ in api.requests]


def test_synced_comes_after_the_first_full_list_of_every_namespace():
    """One namespace listed is not all listed."""

    async def scenario():
        api = ScriptedApi()
        api.put("a", "one")
        api.put("b", "two")
        api.put("c", "three")
        api.faults.append(NotSent("refused"))
        async with an_informer(api, namespaces="one,two") as informer:
            await asyncio.sleep(0.05)
            assert not informer.has_synced
            await informer.synced()
            assert versions(informer) == {("one", "a"): "101", ("two", "b"): "102"}

    run_virtual(scenario())


def test_what_happens_between_list_and_watch_is_not_lost():
    """The watch begins at the version of the list, whatever happened since."""

    async def scenario():
        api = ScriptedApi()
        api.put("a")
        async with an_informer(api) as informer:
            await asyncio.sleep(0.0015)
            assert request_kinds(api) == ["LIST"]
            api.put("b")
            api.remove("a")
            await asyncio.sleep(1)
            assert versions(informer) == api.versions()
            assert informer.notified == [("added", "a"), ("added", "b"), ("deleted", "a")]

    run_virtual(scenario())


def test_lists_are_read_in_pages_of_one_moment():
    """All pages are there before one of them counts."""

    async def scenario():
        api = ScriptedApi()
        for number in range(25):
            api.put(f"thing-{number:02}")
        async with an_informer(api, pace=Pace(page_size=10)) as informer:
            await informer.synced()
            assert len(informer.cache) == 25
            assert [more for kind, more in api.requests if kind == "LIST"] == ["", "10/125", "20/125"]

    run_virtual(scenario())


@pytest.mark.parametrize("fault", [CutAfter(1), DeadAfter(1)], ids=["cut", "silently-dead"])
def test_a_broken_watch_goes_on_where_it_was(fault):
    """After a cut or a silence the next watch begins at the last reported version, without a list."""

    async def scenario():
        api = ScriptedApi()
        api.faults.append(fault)
        async with an_informer(api) as informer:
            await informer.synced()
            await asyncio.sleep(0.1)
            for name in "abc":
                api.put(name)
            await asyncio.sleep(200)
            assert versions(informer) == api.versions()
            assert informer.notified == [("added", "a"), ("added", "b"), ("added", "c")]
            assert request_kinds(api).count("LIST") == 1
            assert api.requests[2] == ("WATCH", "101")

    run_virtual(scenario())


def test_a_bookmark_moves_the_place_to_go_on_from():
    """After a compaction a watch resumes at the bookmark and need not list."""

    async def scenario():
        api = ScriptedApi()
        async with an_informer(api, namespaces="default") as informer:
            await informer.synced()
            api.put("elsewhere", "other")
            await asyncio.sleep(25)
            api.forget()
            await asyncio.sleep(200)
            assert request_kinds(api).count("LIST") == 1
            assert ("WATCH", "101") in api.requests

    run_virtual(scenario())


@pytest.mark.parametrize("as_refusal", [True, False], ids=["refused", "within-the-stream"])
def test_a_forgotten_version_is_answered_by_a_list_and_reported_deletes(as_refusal):
    """Objects that vanished while disconnected are reported as deleted; unchanged ones are not reported."""

    async def scenario():
        api = ScriptedApi()
        for name in ("stays", "changes", "goes"):
            api.put(name)
        api.faults.append(CutAfter(0))
        async with an_informer(api) as informer:
            await informer.synced()
            informer.notified.clear()
            api.put("changes")
            api.remove("goes")
            api.put("comes")
            api.forget()
            if as_refusal:
                api.faults.append(Expired("too old", status=410))
            await asyncio.sleep(5)
            assert versions(informer) == api.versions()
            assert sorted(informer.notified) == [
                ("added", "comes"),
                ("changed", "changes"),
                ("deleted", "goes"),
            ]

    run_virtual(scenario())


def test_a_list_that_expires_between_pages_restarts():
    """Half a list is no list: nothing of it is taken."""

    async def scenario():
        api = ScriptedApi()
        for number in range(4):
            api.put(f"thing-{number}")
        async with an_informer(api, pace=Pace(page_size=2)) as informer:
            await asyncio.sleep(0.0015)
            assert len(api.requests) == 1
            api.remove("thing-0")
            api.forget()
            await informer.synced()
            assert versions(informer) == api.versions()
            assert informer.notified == [("added", f"thing-{n}") for n in (1, 2, 3)]

    run_virtual(scenario())


def test_an_object_recreated_while_disconnected_is_deleted_and_added():
    """A new uid under an old name is another object."""

    async def scenario():
        api = ScriptedApi()
        api.put("a")
        api.faults.append(CutAfter(0))
        async with an_informer(api) as informer:
            await informer.synced()
            api.remove("a")
            api.put("a")
            api.forget()
            await asyncio.sleep(5)
            assert informer.notified == [("added", "a"), ("deleted", "a"), ("added", "a")]
            assert informer.cache.get("default", "a").uid == "uid-2"

    run_virtual(scenario())


def test_a_server_that_lost_its_past_is_believed():
    """Versions that run backwards mean a restored server: its list replaces everything."""

    async def scenario():
        api = ScriptedApi()
        api.put("kept")
        api.put("lost")
        async with an_informer(api) as informer:
            await informer.synced()
            del api.objects["default", "lost"]
            api.lose_past()
            await asyncio.sleep(300)
            api.put("new")
            await asyncio.sleep(100)
            assert versions(informer) == api.versions()

    run_virtual(scenario())


def test_retry_after_is_respected():
    """A server that asks for 7 seconds gets them."""

    async def scenario():
        api = ScriptedApi()
        api.faults.append(TooManyRequests("slow down", status=429, retry_after=7))
        async with an_informer(api) as informer:
            await informer.synced()
            assert 7 <= asyncio.get_running_loop().time() < 8

    run_virtual(scenario())


def test_failures_are_spaced_wider_and_wider_up_to_a_bound():
    """Ten minutes without a server cost some thirty requests, and the first is quick."""

    async def scenario():
        api = ScriptedApi()
        api.faults.extend(NotSent("refused") for _ in range(1000))
        async with an_informer(api) as informer:
            await asyncio.sleep(0.2)
            assert 2 <= len(api.requests) <= 4
            await asyncio.sleep(600)
            assert 20 <= len(api.requests) <= 45
            assert informer.age() > 600
            assert informer.age() > informer.longest_silence
            api.faults.clear()
            await informer.synced()
            assert informer.age() < 1

    run_virtual(scenario())


def test_a_failing_server_is_relisted_only_after_many_failures():
    """A storm of 503 must not become a storm of lists."""

    async def scenario():
        api = ScriptedApi()
        async with an_informer(api) as informer:
            await informer.synced()
            api.faults.extend(ServerFailure("no leader", status=503) for _ in range(5))
            await asyncio.sleep(300)
            assert not api.faults
            assert request_kinds(api).count("LIST") == 1

    run_virtual(scenario())


def test_a_quiet_watch_is_no_reason_to_worry():
    """Hours without a change: watches end and begin in time, nothing is listed, the age stays in bounds."""

    async def scenario():
        api = ScriptedApi()
        api.bookmarks_every = 1e9
        async with an_informer(api) as informer:
            await informer.synced()
            oldest = 0.0
            for _ in range(3600):
                await asyncio.sleep(1)
                oldest = max(oldest, informer.age())
            assert request_kinds(api).count("LIST") == 1
            assert 35 <= request_kinds(api).count("WATCH") <= 45
            assert oldest <= informer.longest_silence
            assert informer.counts.failures == 0

    run_virtual(scenario())


def test_watch_timeouts_are_spread():
    """Two informers started together do not stay in lockstep."""

    async def scenario():
        watch_counts = []
        for rng in (0.0, 0.9):
            api = ScriptedApi()
            api.bookmarks_every = 1e9
            async with an_informer(api, random=lambda rng=rng: rng):
                await asyncio.sleep(200)
            watch_counts.append(request_kinds(api).count("WATCH"))
        assert watch_counts == [4, 2]

    run_virtual(scenario())


def test_a_handler_that_fails_makes_no_one_deaf(caplog):
    """The mistake is reported; other handlers and later changes are served."""

    async def scenario():
        api = ScriptedApi()
        async with an_informer(api) as informer:
            informer.subscribe(lambda change: 1 / 0)
            later = []
            informer.subscribe(lambda change: later.append(change.subject.name))
            await informer.synced()
            api.put("a")
            await asyncio.sleep(1)
            api.put("b")
            await asyncio.sleep(1)
            assert later == ["a", "b"]
            assert request_kinds(api).count("LIST") == 1

    run_virtual(scenario())
    assert caplog.text.count("ZeroDivisionError") == 2


def test_a_late_subscriber_is_reported_what_is_there():
    """Subscribing after the list misses nothing."""

    async def scenario():
        api = ScriptedApi()
        api.put("a")
        async with an_informer(api) as informer:
            await informer.synced()
            seen = []
            informer.subscribe(lambda change: seen.append((change.kind, change.subject.name)))
            assert seen == [("added", "a")]

    run_virtual(scenario())


def test_an_own_write_is_seen_at_once_and_reported_once():
    """Readers see the answer before the watch reports it; the watch event is then no change."""

    async def scenario():
        api = ScriptedApi()
        async with an_informer(api) as informer:
            await informer.synced()
            informer.cache.record_write(api.put("a"))
            assert informer.notified == [("added", "a")]
            await asyncio.sleep(1)
            assert informer.notified == [("added", "a")]

    run_virtual(scenario())


def test_an_answer_that_comes_after_the_watch_reported_the_end_raises_no_ghost():
    """Created, deleted by another client, both reported; then the answer to the create arrives."""

    async def scenario():
        api = ScriptedApi()
        async with an_informer(api) as informer:
            await informer.synced()
            answer = api.put("a")
            api.remove("a")
            await asyncio.sleep(1)
            informer.cache.record_write(answer)
            assert len(informer.cache) == 0
            assert informer.notified == [("added", "a"), ("deleted", "a")]

    run_virtual(scenario())


def test_own_writes_outside_the_selection_stay_out():
    """A cache of some labels or namespaces does not take in what its watch would never take out."""

    async def scenario():
        api = ScriptedApi()
        async with an_informer(api, namespaces="default", labels="team=blue") as informer:
            await informer.synced()
            informer.cache.record_write(api.put("a", labels={"team": "red"}))
            informer.cache.record_write(api.put("b", "other", labels={"team": "blue"}))
            informer.cache.record_write(api.put("c", labels={"team": "blue"}))
            assert [item.name for item in informer.cache.all()] == ["c"]

    run_virtual(scenario())


def test_a_line_that_is_no_event_is_survived_by_a_list():
    """A proxy that writes its own words into the stream does not end the informer."""

    async def scenario():
        api = ScriptedApi()
        garble = api._lines

        async def garbled(*requests):
            yield b"<html>bad gateway</html>"

        async with an_informer(api) as informer:
            api._lines = garbled
            await informer.synced()
            await asyncio.sleep(0.01)
            api._lines = garble
            api.put("a")
            await asyncio.sleep(60)
            assert versions(informer) == api.versions()

    run_virtual(scenario())


def test_ambiguous_reads_are_simply_read_again():
    """A lost answer to a list costs a moment and nothing else."""

    async def scenario():
        api = ScriptedApi()
        api.put("a")
        api.faults.append(Ambiguous("reset"))
        async with an_informer(api) as informer:
            await informer.synced()
            assert versions(informer) == api.versions()

    run_virtual(scenario())
