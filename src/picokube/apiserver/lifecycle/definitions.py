"""CustomResourceDefinitions: serves their kinds as soon as they are stored, and empties deleted ones.

Names are decided and served in memory; the status is written afterwards. Each step is a write that can be repeated, so
a server that stopped midway continues where it was. After a start the same names are decided again, in the order in
which the definitions were last written.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.lifecycle.worker import ignoring
from picokube.apiserver.objects.context import CommittedWrite, ServerContext
from picokube.apiserver.objects.deletion import DeleteOptions, delete
from picokube.apiserver.objects.object_store import Mutation, update
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import IGNORE, Json, JsonObject, WriteOptions
from picokube.apiserver.storage.store import ChangeFailed, Key
from picokube.apiserver.strategies.crds.status import (
    CLEANUP,
    CRDS,
    ESTABLISHED,
    TakenNames,
    accepted_names,
    emptied,
    emptying,
    expected_status,
    has_requested_names,
    is_served,
    is_true,
)

Types = Callable[[JsonObject], list[ResourceType]]
"""From a definition to the kinds it serves."""


class CustomResources:
    """Follows definitions."""

    def __init__(self, context: ServerContext, types: Types) -> None:
        self._context = context
        self._types = types
        self._definitions: dict[str, JsonObject] = {}
        """As they should be: with the status that was decided."""
        self._served: dict[str, tuple[object, list[ResourceType]]] = {}
        self.unwritten: set[str] = set()
        """Definitions about which more was decided than is stored."""
        self.on_change: Callable[[str], None] = _no_observer
        """Called with the name of a definition whose status must be written, or that is being deleted."""
        context.listeners.append(self._on_write)
        stored = [orjson.loads(item.data) for item in context.store.list(CRDS).objects]
        self._definitions = {item["metadata"]["name"]: item for item in stored}
        for item in sorted(stored, key=_revision):
            self._decide(item)

    def decided_status(self, stored: Json) -> Json:
        """The status that a stored definition should have."""
        return expected_status(stored, self._taken(stored), self._context.now())

    def is_ending(self, name: str) -> bool:
        """Whether a definition is about to go."""
        return _is_ending(self._definitions.get(name) or {})

    @property
    def unfinished(self) -> list[str]:
        """Definitions that need a status write or cleanup."""
        return [name for name in self._definitions if name in self.unwritten or self.is_ending(name)]

    def type_of(self, name: str) -> ResourceType:
        """A version of a kind, served or not."""
        definition = self._definitions[name]
        versions = [{**version, "served": True} for version in definition["spec"]["versions"]]
        return self._types({**definition, "spec": {**definition["spec"], "versions": versions}})[0]

    def _on_write(self, write: CommittedWrite) -> None:
        if write.resource.qualified != CRDS:
            return
        name = write.object["metadata"]["name"]
        before = self._definitions.pop(name, None)
        self.unwritten.discard(name)
        if write.gone:
            self._served.pop(name, None)
            self._context.registry.serve_custom(name, [])
        else:
            self._decide(write.object)
        after = self._definitions.get(name)
        if before is not None and (after is None or accepted_names(after) != accepted_names(before)):
            self._reconsider(before["spec"]["group"], name)
        if name in self.unwritten or self.is_ending(name):
            self.on_change(name)

    def _decide(self, stored: JsonObject) -> None:
        """Give it what names there are, and serve it if it has them."""
        name = stored["metadata"]["name"]
        definition = {**stored, "status": self.decided_status(stored)}
        self._definitions[name] = definition
        if definition["status"] != stored.get("status"):
            self.unwritten.add(name)
        spec, names = definition["spec"], accepted_names(definition)
        shape = (stored["metadata"]["uid"], spec, names) if is_served(definition) else None
        ending = _is_ending(definition)
        known = self._served.get(name)
        if known is None or known[0] != shape:
            types: list[ResourceType] = []
            if shape is not None:
                since = _revision(stored)
                types = [
                    replace(item, schema_since=since)
                    for item in self._types({**definition, "spec": {**spec, "names": names}})
                ]
        elif any(item.is_ending is not ending for item in known[1]):
            types = known[1]
        else:
            return
        types = [replace(item, is_ending=ending) for item in types]
        self._served[name] = (shape, types)
        self._context.registry.serve_custom(name, types)

    def _reconsider(self, group: str, name: str) -> None:
        """Names were set free: others of the group may have waited for them."""
        for definition in sorted(self._definitions.values(), key=_revision):
            other = definition["metadata"]["name"]
            if other != name and definition["spec"]["group"] == group and not has_requested_names(definition):
                self._decide(definition)
                self.on_change(other)

    def _taken(self, definition: Json) -> TakenNames:
        group, name = definition["spec"]["group"], definition["metadata"]["name"]
        others = [
            item
            for item in self._definitions.values()
            if item["spec"]["group"] == group and item["metadata"]["name"] != name
        ]
        return TakenNames.by([*others, definition])


def _revision(definition: Json) -> int:
    return int(definition["metadata"]["resourceVersion"])


def _is_ending(definition: Json) -> bool:
    return bool((definition.get("metadata") or {}).get("deletionTimestamp"))


def _no_observer(_name: str) -> None:
    """Used until a controller observes the definitions."""


BATCH_SIZE = 32
"""Objects are deleted in portions, so that others are answered in between."""
RETRY_SECONDS = 5.0
log = logging.getLogger("picokube.apiserver")
_OPTIONS = WriteOptions(manager="kube-apiserver", validation=IGNORE)
_DELETE = DeleteOptions(propagation="Background")


class DefinitionController:
    """Follows definitions, and those of their objects that hold one back."""

    def __init__(self, context: ServerContext, custom: CustomResources) -> None:
        self._context = context
        self._custom = custom
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._emptying: set[str] = set()
        self._held: dict[str, set[Key]] = {}
        """The remaining objects of definitions that wait for finalizers."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._writing = asyncio.Lock()
        custom.on_change = self._queue.put_nowait
        context.listeners.append(self._on_write)
        context.after_write[CRDS] = self.settle

    def _on_write(self, write: CommittedWrite) -> None:
        if not write.gone or not self._held:
            return
        name, meta = write.resource.stored_as, write.object["metadata"]
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
        """Run a step. A deleted definition needs no more steps; a failed write is retried."""
        try:
            with ignoring("NotFound"):
                await step
        except (errors.ApiError, ChangeFailed) as error:
            log.warning("definition postponed", extra={"definition": name, "reason": str(error)})
            self._look_again(name)

    def _look_again(self, name: str) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        loop = asyncio.get_running_loop()
        self._timers[name] = loop.call_later(RETRY_SECONDS, self._queue.put_nowait, name)

    async def _establish(self, name: str) -> None:
        def settled(old: JsonObject) -> tuple[JsonObject, bool]:
            return {**old, "status": self._custom.decided_status(old)}, False

        await self._write(name, settled)

    def _is_held(self, name: str) -> bool:
        """Whether objects with finalizers remain; checked after their removal, and periodically."""
        left = {key for key in self._held.pop(name, ()) if self._context.store.get(key) is not None}
        if left:
            self._held[name] = left
            self._look_again(name)
        return bool(left)

    async def _empty(self, name: str) -> None:
        """Delete every object of the kind, then the definition."""

        def start(old: JsonObject) -> tuple[JsonObject, bool]:
            return {**old, "status": emptying(old, self._context.now())}, False

        def finish(old: JsonObject) -> tuple[JsonObject, bool]:
            return emptied(old, self._context.now()), False

        try:
            stored = self._context.store.get(Key(CRDS, "", name))
            definition = orjson.loads(stored.data) if stored is not None else None
            if definition is None or CLEANUP not in (definition["metadata"].get("finalizers") or ()):
                return
            # No object is created after the deletion was write of; those before are committed once this is.
            await self._write(name, start)
            if is_true(definition, ESTABLISHED) and not self._context.registry.is_built_in(name):
                await self._delete_objects(name)
            if not self._is_held(name):
                await self._write(name, finish)
        finally:
            self._emptying.discard(name)

    async def _delete_objects(self, name: str) -> None:
        resource = self._custom.type_of(name)
        keys = [item.key for item in self._context.store.list(name).objects]
        for start in range(0, len(keys), BATCH_SIZE):
            await asyncio.gather(*(self._delete(resource, key) for key in keys[start : start + BATCH_SIZE]))
        self._held[name] = set(keys)

    async def _delete(self, resource: ResourceType, key: Key) -> None:
        with ignoring("NotFound"):
            await delete(self._context, resource, key, _DELETE)

    async def _write(self, name: str, mutation: Mutation) -> None:
        resource = self._context.registry.get("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        await update(self._context, resource, Key(CRDS, "", name), mutation, _OPTIONS, subresource="status")
