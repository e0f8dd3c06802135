"""What a watch reports, how it ends, and what an informer does with it, on every server and transport."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from contract.kube.beds import Interposed
from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client import errors
from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS, EVENTS, NAMESPACES

OURS = "suite=watch"


@asynccontextmanager
async def a_client(bed, *namespaces):
    """A client whose streams can be cut."""
    async with bed.transport() as transport:
        client = Client(Interposed(transport), manager="contract")
        for namespace in namespaces:
            await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        yield client


@asynccontextmanager
async def an_informer(client, *namespaces):
    informer = Informer(client, CONFIG_MAPS, namespaces=Namespaces.of(*namespaces), labels=OURS)
    informer.notified = []
    informer.subscribe(lambda change: informer.notified.append((change.kind, change.subject.name)))
    running = asyncio.create_task(informer.run())
    try:
        await asyncio.wait_for(informer.synced(), 20)
        yield informer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def a_map(namespace, name, *, labels=None, **data):
    metadata = {"name": name, "namespace": namespace, "labels": labels or {"suite": "watch"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def an_event(namespace, name):
    subject = {"kind": "ConfigMap", "namespace": namespace, "name": "a"}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": subject,
        "reason": "Tested",
        "type": "Normal",
    }


async def remove(client, obj):
    metadata = obj["metadata"]
    await client.delete(CONFIG_MAPS, metadata["name"], metadata["namespace"], uid=metadata["uid"])


async def version_of(client, namespace):
    pages = [page async for page in client.pages(CONFIG_MAPS, namespace)]
    return pages[-1].resource_version


async def until(holds, *, seconds=20.0):
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - handlers and caches have no event for it
            await asyncio.sleep(0.01)


async def is_true(informer, client, *namespaces):
    """Wait until the cache equals the server's objects."""
    async with asyncio.timeout(20):
        while True:
            listed = [
                item for name in namespaces for item in await client.list(CONFIG_MAPS, name, labels=OURS)
            ]
            there = {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in listed}
            if {item.uid: item.resource_version for item in informer.cache.all()} == there:
                return
            await asyncio.sleep(0.05)


def test_a_watch_reports_changes_after_its_version_in_order(bed, namespace):
    """Including changes before it was opened; and it ends at its timeout."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            since = await version_of(client, namespace)
            made = await client.create(CONFIG_MAPS, a_map(namespace, "a", x="1"))
            changed = await client.update(CONFIG_MAPS, {**made, "data": {"x": "2"}})
            await remove(client, changed)
            began = asyncio.get_running_loop().time()
            async with client.watch(
                CONFIG_MAPS, namespace, resource_version=since, labels=OURS, timeout_seconds=2
            ) as events:
                reported = [(event.kind, event.resource_version) async for event in events]
            assert asyncio.get_running_loop().time() - began < 8
            changes = [item for item in reported if item[0] != "BOOKMARK"]
            assert [kind for kind, _ in changes] == ["ADDED", "MODIFIED", "DELETED"]
            versions = [int(version) for _, version in reported]
            assert versions == sorted(versions)
            assert versions[0] == int(made["metadata"]["resourceVersion"])
            assert int(changes[2][1]) > int(changed["metadata"]["resourceVersion"])

    asyncio.run(scenario())


def test_a_bookmark_comes_before_the_end(bed, namespace):
    """A watch without changes can resume close to the present. A real server sends none in a watch of less than a
    minute.
    """

    async def scenario():
        async with a_client(bed, namespace) as client:
            since = await version_of(client, namespace)
            last = await client.create(CONFIG_MAPS, a_map(namespace, "a", labels={"suite": "other"}))
            async with client.watch(
                CONFIG_MAPS, namespace, resource_version=since, labels=OURS, timeout_seconds=4
            ) as events:
                reported = [event async for event in events]
            if bed.name == "real":
                assert reported == []
                return
            assert {event.kind for event in reported} == {"BOOKMARK"}
            assert int(reported[-1].resource_version) >= int(last["metadata"]["resourceVersion"])

    asyncio.run(scenario())


def test_an_object_that_leaves_the_selection_is_reported_as_deleted(bed, namespace):
    """And as added when it matches again."""

    async def scenario():
        async with a_client(bed, namespace) as client, an_informer(client, namespace) as informer:
            made = await client.create(CONFIG_MAPS, a_map(namespace, "a"))
            made["metadata"]["labels"] = {"suite": "other"}
            left = await client.update(CONFIG_MAPS, made)
            await until(lambda: ("deleted", "a") in informer.notified)
            left["metadata"]["labels"] = {"suite": "watch"}
            await client.update(CONFIG_MAPS, left)
            await until(lambda: informer.notified == [("added", "a"), ("deleted", "a"), ("added", "a")])

    asyncio.run(scenario())


def test_a_compacted_version_is_expired(bed, namespace):
    """Whether the server rejects it or reports it in the stream. Events: real servers do not cache them."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            await client.create(EVENTS, an_event(namespace, "a"))
            await bed.forget_history()

            async def follow():
                async with client.watch(EVENTS, namespace, resource_version="1", timeout_seconds=5) as events:
                    return [event async for event in events]

            with pytest.raises(errors.Expired):
                await follow()

    asyncio.run(scenario())


def test_a_list_that_expires_between_pages_is_complete(bed, namespace):
    """It is read again: no object is missing or duplicated."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            names = [f"event-{number}" for number in range(5)]
            for name in names:
                await client.create(EVENTS, an_event(namespace, name))
            interposed, written = client._transport, []

            writer = Client(interposed._transport, manager="contract")

            async def write_and_forget_before_the_second_page():
                written.append(await writer.create(EVENTS, an_event(namespace, f"z-{len(written)}")))
                if len(written) == 2:
                    await bed.forget_history()

            interposed.before_request = write_and_forget_before_the_second_page
            listed_names = [
                item["metadata"]["name"] for item in await client.list(EVENTS, namespace, page_size=2)
            ]
            assert listed_names[:5] == names
            assert len(listed_names) == len(set(listed_names))
            # Compaction of our server process cannot be triggered from outside.
            assert len(written) > 4 or bed.name == "embedded"

    asyncio.run(scenario())


def test_an_informer_follows_two_namespaces(bed, namespace):
    """Each with its own list and watch; a third namespace is ignored."""

    async def scenario():
        one, two, three = (f"{namespace}-{number}" for number in "123")
        async with a_client(bed, one, two, three) as client:
            await client.create(CONFIG_MAPS, a_map(one, "before"))
            async with an_informer(client, one, two) as informer:
                made = [
                    await client.create(CONFIG_MAPS, a_map(own_namespace, "a"))
                    for own_namespace in (one, two, three)
                ]
                await until(lambda: len(informer.cache) == 3)
                await remove(client, made[1])
                await is_true(informer, client, one, two)
                assert sorted((item.namespace, item.name) for item in informer.cache.all()) == [
                    (one, "a"),
                    (one, "before"),
                ]

    asyncio.run(scenario())


def test_cut_watches_lose_nothing_and_need_no_list(bed, namespace):
    """Cut after any number of events, the informer resumes where it was."""

    async def scenario():
        async with a_client(bed, namespace) as client, an_informer(client, namespace) as informer:
            interposed = client._transport
            for cut_after in (1, 2, 0, 3):
                interposed.cut()
                await asyncio.sleep(0.05)
                interposed.cut_after = cut_after
                for number in range(3):
                    made = await client.create(CONFIG_MAPS, a_map(namespace, f"map-{cut_after}-{number}"))
                    await client.update(CONFIG_MAPS, {**made, "data": {"x": "1"}})
                    if number == 1:
                        await remove(client, made)
                await is_true(informer, client, namespace)
            assert informer.counts.lists == 1
            assert len(interposed.watches) > 4
            story = {}
            for kind, name in informer.notified:
                story.setdefault(name, []).append(kind)
            assert all(kinds[:2] == ["added", "changed"] for kinds in story.values())
            assert len(story) == 12

    asyncio.run(scenario())


def test_after_an_expired_version_the_informer_relists(bed, namespace):
    """Objects that vanished are reported as deleted, unchanged objects are not reported."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            interposed = client._transport
            made = {
                name: await client.create(CONFIG_MAPS, a_map(namespace, name))
                for name in ("stays", "changes", "goes")
            }
            async with an_informer(client, namespace) as informer:
                informer.notified.clear()
                interposed.ask_for = "1"
                interposed.open.clear()
                interposed.cut()
                await asyncio.sleep(0)
                await remove(client, made["goes"])
                await client.update(CONFIG_MAPS, {**made["changes"], "data": {"x": "1"}})
                await client.create(CONFIG_MAPS, a_map(namespace, "comes"))
                assert informer.notified == []
                interposed.open.set()
                await is_true(informer, client, namespace)
                await until(lambda: informer.counts.lists == 2)
                assert sorted(informer.notified) == [
                    ("added", "comes"),
                    ("changed", "changes"),
                    ("deleted", "goes"),
                ]

    asyncio.run(scenario())


def test_own_writes_are_in_the_cache_at_once_and_reported_once(bed, namespace):
    """Create, update and delete are in the cache before the watch reports them."""

    async def scenario():
        async with a_client(bed, namespace) as client, an_informer(client, namespace) as informer:
            made = await client.create(CONFIG_MAPS, a_map(namespace, "a"))
            informer.cache.record_write(made)
            assert informer.cache.get(namespace, "a").uid == made["metadata"]["uid"]
            changed = await client.update(CONFIG_MAPS, {**made, "data": {"x": "1"}})
            informer.cache.record_write(changed)
            assert informer.cache.get(namespace, "a").decode()["data"] == {"x": "1"}
            await remove(client, changed)
            informer.cache.record_delete(namespace, "a", made["metadata"]["uid"])
            assert informer.cache.get(namespace, "a") is None
            await client.create(CONFIG_MAPS, a_map(namespace, "marker"))
            await until(lambda: ("added", "marker") in informer.notified)
            assert informer.notified == [
                ("added", "a"),
                ("changed", "a"),
                ("deleted", "a"),
                ("added", "marker"),
            ]

    asyncio.run(scenario())


def test_a_burst_arrives_completely(bed, namespace):
    """Two hundred objects written at once."""

    async def scenario():
        async with a_client(bed, namespace) as client, an_informer(client, namespace) as informer:
            room = asyncio.Semaphore(16)

            async def write(number):
                async with room:
                    await client.create(CONFIG_MAPS, a_map(namespace, f"map-{number}"))

            await asyncio.gather(*map(write, range(200)))
            await until(lambda: len(informer.cache) == 200)
            assert len(informer.notified) == 200

    asyncio.run(scenario())


def test_hundreds_of_watches_at_once(bed, namespace):
    """Each receives the same events while requests continue."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            since = await version_of(client, namespace)
            received = asyncio.Semaphore(0)

            async def follow():
                async with client.watch(
                    CONFIG_MAPS, namespace, resource_version=since, labels=OURS, timeout_seconds=60
                ) as events:
                    async for event in events:
                        if event.kind == "ADDED":
                            received.release()
                            return

            following = [asyncio.create_task(follow()) for _ in range(150)]
            await asyncio.sleep(0.5)
            await client.create(CONFIG_MAPS, a_map(namespace, "a"))
            async with asyncio.timeout(30):
                await asyncio.gather(*following)

    asyncio.run(scenario())
