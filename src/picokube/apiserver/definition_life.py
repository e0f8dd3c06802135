"""What belongs to the life of a CustomResourceDefinition: establishing a new one, and emptying one that is deleted.

Each step is a write of its own that can be done again, so a server that stopped midway goes on where it was.
"""

import asyncio
import logging
from collections.abc import Coroutine

import orjson

from picokube.apiserver import errors
from picokube.apiserver.custom_resources import CustomResources
from picokube.apiserver.deletion import DeleteOptions, delete
from picokube.apiserver.object_store import update
from picokube.apiserver.options import IGNORE, WriteOptions
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.server_context import Heard, Serving
from picokube.apiserver.storage.errors import ChangeFailed
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.crd_conditions import (
    CLEANUP,
    CRDS,
    ESTABLISHED,
    emptied,
    emptying,
    is_true,
)
from picokube.apiserver.updating import Mutation

AT_ONCE = 32
"""Objects are deleted in portions, so that others are answered in between."""
LOOK_AGAIN_SECONDS = 5.0
log = logging.getLogger("picokube.apiserver")
_OPTIONS = WriteOptions(manager="kube-apiserver", validation=IGNORE)
_DELETE = DeleteOptions(propagation="Background")


class DefinitionLife:
    """Follows definitions, and those of their objects that hold one back."""

    def __init__(self, serving: Serving, custom: CustomResources) -> None:
        self._serving = serving
        self._custom = custom
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._emptying: set[str] = set()
        self._held: dict[str, set[Key]] = {}
        """Of definitions that wait for others: the objects that are left."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._writing = asyncio.Lock()
        custom.on_change = self._queue.put_nowait
        serving.listeners.append(self._hear)
        serving.settling[CRDS] = self.settle

    def _hear(self, heard: Heard) -> None:
        if not heard.gone or not self._held:
            return
        name, meta = heard.resource.stored_as, heard.object["metadata"]
        held = self._held.get(name)
        if held is not None:
            held.discard(Key(name, meta.get("namespace") or "", meta["name"]))
            if not held:
                self._queue.put_nowait(name)

    async def settle(self) -> None:
        """Write the decision to the CRD's status before its creator reads it back."""
        for name in sorted(self._custom.unwritten):
            await self._settled(name)

    async def run(self) -> None:
        """Until cancelled."""
        for name in self._custom.unfinished:
            self._queue.put_nowait(name)
        async with asyncio.TaskGroup() as group:
            while True:
                name = await self._queue.get()
                await self._settled(name)
                if self._custom.is_ending(name) and name not in self._emptying and not self._is_held(name):
                    self._emptying.add(name)
                    group.create_task(self._tried(name, self._empty(name)), name=f"emptying {name}")

    async def _settled(self, name: str) -> None:
        """The writer of a CRD and its watcher both call this; the second call does nothing."""
        async with self._writing:
            if name in self._custom.unwritten:
                await self._tried(name, self._establish(name))

    async def _tried(self, name: str, step: Coroutine[None, None, None]) -> None:
        """A definition that is gone needs nothing more; one that could not be written is looked at again."""
        try:
            await step
        except (errors.ApiError, ChangeFailed) as error:
            if not (isinstance(error, errors.ApiError) and error.reason == "NotFound"):
                log.warning("definition postponed", extra={"definition": name, "error": str(error)})
                self._look_again(name)

    def _look_again(self, name: str) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        loop = asyncio.get_running_loop()
        self._timers[name] = loop.call_later(LOOK_AGAIN_SECONDS, self._queue.put_nowait, name)

    async def _establish(self, name: str) -> None:
        def settled(old: JsonObject) -> tuple[JsonObject, bool]:
            return {**old, "status": self._custom.decided_status(old)}, False

        await self._write(name, settled)

    def _is_held(self, name: str) -> bool:
        """Whether objects are left that others hold; told by their removal, and asked now and then."""
        left = {key for key in self._held.pop(name, ()) if self._serving.store.get(key) is not None}
        if left:
            self._held[name] = left
            self._look_again(name)
        return bool(left)

    async def _empty(self, name: str) -> None:
        """Delete every object of the kind, then the definition."""

        def begun(old: JsonObject) -> tuple[JsonObject, bool]:
            return {**old, "status": emptying(old, self._serving.now())}, False

        def done(old: JsonObject) -> tuple[JsonObject, bool]:
            return emptied(old, self._serving.now()), False

        try:
            stored = self._serving.store.get(Key(CRDS, "", name))
            definition = orjson.loads(stored.data) if stored is not None else None
            if definition is None or CLEANUP not in (definition["metadata"].get("finalizers") or ()):
                return
            # No object is created after the deletion was heard of; those before are committed once this is.
            await self._write(name, begun)
            if is_true(definition, ESTABLISHED) and not self._serving.registry.is_built_in(name):
                await self._delete_objects(name)
            if not self._is_held(name):
                await self._write(name, done)
        finally:
            self._emptying.discard(name)

    async def _delete_objects(self, name: str) -> None:
        resource = self._custom.type_of(name)
        keys = [item.key for item in self._serving.store.list(name).objects]
        for start in range(0, len(keys), AT_ONCE):
            await asyncio.gather(*(self._delete(resource, key) for key in keys[start : start + AT_ONCE]))
        self._held[name] = set(keys)

    async def _delete(self, resource: ResourceType, key: Key) -> None:
        try:
            await delete(self._serving, resource, key, _DELETE)
        except errors.ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _write(self, name: str, mutation: Mutation) -> None:
        resource = self._serving.registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        if resource is None:
            raise LookupError("definitions are not served")
        await update(self._serving, resource, Key(CRDS, "", name), mutation, _OPTIONS, subresource="status")
