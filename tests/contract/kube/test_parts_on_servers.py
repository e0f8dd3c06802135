"""Election, Events and a controller with its informer, on every server and transport."""

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from kubekit.cache.informer import Informer
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES
from kubekit.controller.controller import Controller
from kubekit.controller.manager import Manager
from kubekit.controller.reconcile import DONE, Key, owner_key
from kubekit.events.event_recorder import EventRecorder
from kubekit.leases.lease import Elector, LeaseTiming

QUICK = LeaseTiming(duration=3, renew_deadline=2.0, retry_period=0.2)


def now():
    return datetime.now(UTC)


@asynccontextmanager
async def a_client(bed, namespace):
    async with bed.transport() as transport, asyncio.timeout(30):
        client = Client(transport, manager="contract")
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        yield client


async def until(holds):
    while not holds():  # noqa: ASYNC110 - there is no event for the condition
        await asyncio.sleep(0.01)


async def ended(*tasks):
    for task in tasks:
        task.cancel()
        await asyncio.wait([task])


def test_the_lease_passes_from_one_holder_to_the_next(bed, namespace):
    """Acquired, renewed, released, acquired by the other: the server accepts every record."""

    def an_elector(client, name):
        return Elector(client, name="leader", namespace=namespace, identity=name, now=now, timing=QUICK)

    async def scenario():
        async with a_client(bed, namespace) as client:
            first, second = an_elector(client, "first"), an_elector(client, "second")
            running = asyncio.create_task(first.run())
            await first.held()
            waiting = asyncio.create_task(second.run())
            taken = await client.get(LEASES, "leader", namespace)
            await asyncio.sleep(1)
            renewed = await client.get(LEASES, "leader", namespace)
            assert (first.holds(), second.holds()) == (True, False)
            assert taken["spec"]["renewTime"] < renewed["spec"]["renewTime"]
            assert taken["spec"]["acquireTime"] == renewed["spec"]["acquireTime"]
            await ended(running)
            await second.held()
            spec = (await client.get(LEASES, "leader", namespace))["spec"]
            assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("second", 1)
            await ended(waiting)

    asyncio.run(scenario())


def test_events_are_written_and_counted(bed, namespace):
    """The server accepts the Event, its count, and a new one after it was deleted."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            about = await client.create(
                CONFIG_MAPS, {"metadata": {"name": "a", "namespace": namespace}, "data": {}}
            )
            about |= {"apiVersion": "v1", "kind": "ConfigMap"}
            recorder = EventRecorder(client, component="contract", now=now)
            running = asyncio.create_task(recorder.run())

            async def report():
                recorder.record(about, type="Warning", reason="Odd", message="it is odd", action="Look")
                await until(lambda: not recorder.pending)
                return await client.list(EVENTS, namespace, fields="involvedObject.name=a")

            (first,) = await report()
            (second,) = await report()
            assert (first["count"], second["count"]) == (1, 2)
            assert first["metadata"]["uid"] == second["metadata"]["uid"]
            assert second["involvedObject"]["uid"] == about["metadata"]["uid"]
            await client.delete(EVENTS, second["metadata"]["name"], namespace, uid=second["metadata"]["uid"])
            (third,) = await report()
            assert (third["count"], recorder.dropped) == (3, 0)
            await ended(running)

    asyncio.run(scenario())


def test_a_controller_follows_its_objects_and_their_children(bed, namespace):
    """From a write on the server to a reconcile: own objects by themselves, children by their owner."""
    reconciled = []

    async def reconcile(key):
        reconciled.append(key)
        return DONE

    async def scenario():
        async with a_client(bed, namespace) as client:
            informer = Informer(client, CONFIG_MAPS, namespaces=Namespaces.of(namespace))
            controller = Controller("maps", reconcile)
            controller.watch(informer, where=lambda change: not change.subject.owners)
            controller.watch(informer, owner_key("ConfigMap"))
            manager = Manager()
            manager.add_informer("configmaps", informer)
            manager.add_controller(controller)
            running = asyncio.create_task(manager.run())

            await informer.synced()
            parent = await client.create(
                CONFIG_MAPS, {"metadata": {"name": "parent", "namespace": namespace}}
            )
            await until(lambda: Key(namespace, "parent") in reconciled)
            reconciled.clear()
            owner = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "parent",
                "uid": parent["metadata"]["uid"],
                "controller": True,
            }
            await client.create(
                CONFIG_MAPS,
                {"metadata": {"name": "child", "namespace": namespace, "ownerReferences": [owner]}},
            )
            await until(lambda: Key(namespace, "parent") in reconciled)
            assert Key(namespace, "child") not in reconciled
            assert (manager.ready(), manager.alive()) == ([], [])
            manager.stop()
            await running

    asyncio.run(scenario())
