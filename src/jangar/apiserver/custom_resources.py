"""Custom kinds come and go with their definitions: served the moment one is stored, emptied before it goes."""

import asyncio
from collections.abc import Callable

import orjson

from jangar.apiserver import errors
from jangar.apiserver.deletion import DeleteOptions, delete
from jangar.apiserver.options import IGNORE, WriteOptions
from jangar.apiserver.resources import JsonObject, ResourceType
from jangar.apiserver.serving import Heard, Serving
from jangar.apiserver.storage.store import Key
from jangar.apiserver.writing import update

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_OPTIONS = WriteOptions(manager="kube-apiserver", validation=IGNORE)

Types = Callable[[JsonObject], list[ResourceType]]
"""From a stored definition to the kinds it serves."""


class CustomResources:
    """Follows definitions."""

    def __init__(self, serving: Serving, types: Types) -> None:
        self._serving = serving
        self._types = types
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        serving.listeners.append(self._hear)
        for stored in serving.store.list(CRDS).objects:
            self._serve(orjson.loads(stored.data))

    def _hear(self, heard: Heard) -> None:
        if heard.resource.qualified != CRDS:
            return
        name = heard.object["metadata"]["name"]
        if heard.gone:
            self._serving.registry.serve_custom(name, [])
        else:
            self._serve(heard.object)
            self._queue.put_nowait(name)

    def _serve(self, definition: JsonObject) -> None:
        self._serving.registry.serve_custom(definition["metadata"]["name"], self._types(definition))

    async def run(self) -> None:
        """Until cancelled."""
        for stored in self._serving.store.list(CRDS).objects:
            self._queue.put_nowait(stored.key.name)
        while True:
            name = await self._queue.get()
            try:
                await self._look_at(name)
            except errors.ApiError as error:
                if error.reason not in ("NotFound", "Conflict"):
                    raise

    async def _look_at(self, name: str) -> None:
        stored = self._serving.store.get(Key(CRDS, "", name))
        if stored is None:
            return
        definition = orjson.loads(stored.data)
        if definition["metadata"].get("deletionTimestamp"):
            await self._empty(definition)

    async def _empty(self, definition: JsonObject) -> None:
        """Delete every object of the kind, then the definition."""
        name = definition["metadata"]["name"]
        types = self._types(definition)
        left = 0
        for stored in self._serving.store.list(name).objects:
            done = await delete(self._serving, types[0], stored.key, DeleteOptions(propagation="Background"))
            left += not done.gone
        if left:
            asyncio.get_running_loop().call_later(0.2, self._queue.put_nowait, name)
            return
        resource = self._serving.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        if resource is not None:
            await update(self._serving, resource, Key(CRDS, "", name), _released, _OPTIONS)


def _released(old: JsonObject) -> tuple[JsonObject, bool]:
    kept = [each for each in old["metadata"].get("finalizers") or () if each != CLEANUP]
    old["metadata"]["finalizers"] = kept
    return old, True
