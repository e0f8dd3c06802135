"""A server without HTTP: a store, custom kinds, and the controller of their definitions."""

import asyncio
import itertools
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import orjson

from picokube.apiserver.kinds.resources import Registry, ResourceType
from picokube.apiserver.lifecycle.definitions import CustomResources, DefinitionController
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.deletion import DeleteOptions, delete
from picokube.apiserver.objects.object_store import create, update
from picokube.apiserver.protocol.messages import IGNORE, WriteOptions
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.strategies.crds.custom import resource_types_of
from picokube.apiserver.strategies.crds.definition import CustomResourceDefinition

GROUP = "example.com"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
OPTIONS = WriteOptions(manager="test", validation=IGNORE)
CRDS = ResourceType(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    singular="customresourcedefinition",
    namespaced=False,
    strategy=CustomResourceDefinition("apiextensions/v1.CustomResourceDefinition"),
)


def a_version(name="v1", *, storage=True, served=True, **properties):
    spec = {"type": "object", "properties": properties or {"a": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
    }


def a_definition(plural="parts", kind="Part", versions=(), **names):
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": list(versions) or [a_version()],
        },
    }


def a_part(name="a", version="v1", **spec):
    meta = {"name": name, "finalizers": spec.pop("finalizers")} if "finalizers" in spec else {"name": name}
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Part", "metadata": meta, "spec": spec}


class SmallServer:
    """What a test does to it."""

    def __init__(self, store):
        uids = (f"{store.revision}-{n}" for n in itertools.count())
        self.serving = ServerContext(
            store=store,
            registry=Registry([CRDS]),
            clock=lambda: NOW,
            new_uid=lambda: next(uids),
            new_suffix=lambda: "xxxxx",
        )
        self.life = DefinitionController(self.serving, CustomResources(self.serving, resource_types_of))

    def kind(self, plural="parts", version="v1"):
        return self.serving.registry.find(GROUP, version, plural)

    async def define(self, definition):
        """As a request does it: the answer comes after what follows from it."""
        written = await create(self.serving, CRDS, None, definition, OPTIONS)
        await self.life.settle()
        return written.object

    async def make(self, obj, version="v1"):
        return (await create(self.serving, self.kind(version=version), None, obj, OPTIONS)).object

    async def change(self, resource, name, mutation):
        def changed(old):
            mutation(old)
            return old, False

        written = await update(self.serving, resource, key_of(resource, None, name), changed, OPTIONS)
        await self.life.settle()
        return written.object

    async def delete(self, resource, name):
        return await delete(self.serving, resource, key_of(resource, None, name), DeleteOptions())

    def stored(self, resource, name):
        found = self.serving.store.get(key_of(resource, None, name))
        return None if found is None else orjson.loads(found.data)

    def definition(self, plural="parts"):
        return self.stored(CRDS, f"{plural}.{GROUP}")

    def conditions(self, plural="parts"):
        found = self.definition(plural)["status"].get("conditions") or ()
        return {item["type"]: (item["status"], item["reason"]) for item in found}

    async def until(self, holds):
        async with asyncio.timeout(10):
            while not holds():  # noqa: ASYNC110 - the condition sends no event
                await asyncio.sleep(0.001)


@asynccontextmanager
async def a_server(path=":memory:", *, with_controller=True):
    """Without `with_controller` nothing finishes what a request began, as if the process had ended there."""
    store = SqliteStore.open(path)
    server = SmallServer(store)
    running = asyncio.create_task(server.life.run()) if with_controller else None
    try:
        yield server
    finally:
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        await store.close()


def in_a_server(test):
    """Run a coroutine of a server as a test."""

    def run():
        async def within():
            async with a_server() as server:
                await test(server)

        asyncio.run(within())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run
