"""Garbage collection: deletes dependents with their owners, or orphans them, by the propagation policy.

Reacts to every write of the server; after a start it checks all objects once. Knows owner references, no kind.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.lifecycle.worker import ignoring, work
from picokube.apiserver.objects.context import CommittedWrite, ServerContext, key_of
from picokube.apiserver.objects.deletion import FOREGROUND, ORPHAN, DeleteOptions, delete
from picokube.apiserver.objects.object_store import update
from picokube.apiserver.protocol.messages import IGNORE, JsonObject, WriteOptions
from picokube.apiserver.storage.store import Stored

log = logging.getLogger(__name__)

BATCH_SIZE = 64
RETRY_SECONDS = 1.0
_OPTIONS = WriteOptions(manager="garbage-collector", validation=IGNORE)
_FOREGROUND = FOREGROUND.encode()


class Collector:
    """A queue of writes to check; checking twice does no harm."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._queue: asyncio.Queue[CommittedWrite] = asyncio.Queue()
        context.listeners.append(self._on_write)

    def _on_write(self, write: CommittedWrite) -> None:
        meta = write.object["metadata"]
        if write.gone or meta.get("deletionTimestamp"):
            self._queue.put_nowait(write)
        elif owners := meta.get("ownerReferences"):
            # A later deletion of an owner is reported then, and its dependents are checked.
            found = [self._owner(owner, meta.get("namespace")) for owner in owners]
            if None in found or any(_is_foreground(owner) for owner in found):
                self._queue.put_nowait(write)

    async def run(self) -> None:
        """Until cancelled."""
        self._look_at_everything()
        await work(self._queue, self._consider, self._retry, task="garbage collection")

    def _retry(self, write: CommittedWrite) -> None:
        asyncio.get_running_loop().call_later(RETRY_SECONDS, self._queue.put_nowait, write)

    def _look_at_everything(self) -> None:
        for resource in {item.stored_as or item.qualified: item for item in self._context.registry}.values():
            if "list" not in resource.verbs:
                continue
            for stored in self._context.store.list(resource.stored_as or resource.qualified).objects:
                self._on_write(
                    CommittedWrite(resource=resource, object=orjson.loads(stored.data), gone=False)
                )

    async def _consider(self, write: CommittedWrite) -> None:
        obj = write.object
        meta = obj["metadata"]
        finalizers = meta.get("finalizers") or ()
        if write.gone:
            await self._collect(self._context.store.owned_by(meta["uid"]))
            await self._owners_that_wait(obj)
        elif meta.get("deletionTimestamp") and FOREGROUND in finalizers:
            await self._foreground(write.resource, obj)
        elif meta.get("deletionTimestamp") and ORPHAN in finalizers:
            await self._orphan(write.resource, obj)
        elif meta.get("ownerReferences"):
            await self._collect_if_orphaned(write.resource, obj)

    async def _collect(self, dependents: Sequence[Stored]) -> None:
        for start in range(0, len(dependents), BATCH_SIZE):
            part = dependents[start : start + BATCH_SIZE]
            await asyncio.gather(*(self._collect_stored(item) for item in part))

    async def _collect_stored(self, stored: Stored) -> None:
        obj = orjson.loads(stored.data)
        resource = self._type_of(stored, obj)
        if resource is not None:
            await self._collect_if_orphaned(resource, obj)

    def _type_of(self, stored: Stored, obj: JsonObject) -> ResourceType | None:
        """That of the version it is stored in, or another one where that is not served."""
        registry = self._context.registry
        return registry.by_kind(obj["apiVersion"], obj["kind"]) or registry.by_storage(stored.key.resource)

    async def _collect_if_orphaned(self, resource: ResourceType, obj: JsonObject) -> None:
        """Delete an object without owners; remove references to deleted owners if others remain."""
        meta = obj["metadata"]
        gone = [
            owner["uid"]
            for owner in meta["ownerReferences"]
            if self._owner(owner, meta.get("namespace")) is None
        ]
        if not gone:
            await self._follow_foreground(resource, obj)
        elif len(gone) == len(meta["ownerReferences"]):
            await self._delete(resource, obj, "Background")
        else:
            await self._forget_owners(resource, obj, gone)

    def _owner(self, owner: JsonObject, namespace: str | None) -> JsonObject | None:
        """Parsed only if it has the finalizer: most owners have not, and some are large."""
        resource = self._context.registry.by_kind(owner["apiVersion"], owner["kind"])
        if resource is None:
            # A kind that is not served may return with its CRD: its objects never count as deleted.
            return {"metadata": {}}
        stored = self._context.store.get(
            key_of(resource, namespace if resource.namespaced else None, owner["name"])
        )
        if stored is None or stored.uid != owner["uid"]:
            return None
        found: JsonObject = orjson.loads(stored.data) if _FOREGROUND in stored.data else {"metadata": {}}
        return found

    async def _follow_foreground(self, resource: ResourceType, obj: JsonObject) -> None:
        """Delete an object whose owners all wait for their dependents."""
        meta = obj["metadata"]
        if meta.get("deletionTimestamp"):
            return
        owners = [self._owner(owner, meta.get("namespace")) for owner in meta["ownerReferences"]]
        if all(_is_foreground(owner) for owner in owners):
            has_dependents = bool(self._context.store.owned_by(meta["uid"]))
            await self._delete(resource, obj, "Foreground" if has_dependents else "Background")

    async def _foreground(self, resource: ResourceType, obj: JsonObject) -> None:
        uid = obj["metadata"]["uid"]
        await self._collect(self._context.store.owned_by(uid))
        blocking = [item for item in self._context.store.owned_by(uid) if _blocks_deletion(item, uid)]
        if not blocking:
            await self._drop_finalizer(resource, obj, FOREGROUND)

    async def _orphan(self, resource: ResourceType, obj: JsonObject) -> None:
        uid = obj["metadata"]["uid"]
        for stored in self._context.store.owned_by(uid):
            dependent = orjson.loads(stored.data)
            kind = self._type_of(stored, dependent)
            if kind is not None:
                await self._forget_owners(kind, dependent, [uid])
        await self._drop_finalizer(resource, obj, ORPHAN)

    async def _owners_that_wait(self, obj: JsonObject) -> None:
        meta = obj["metadata"]
        for reference in meta.get("ownerReferences") or ():
            owner = self._owner(reference, meta.get("namespace"))
            if owner and FOREGROUND in (owner["metadata"].get("finalizers") or ()):
                resource = self._context.registry.by_kind(reference["apiVersion"], reference["kind"])
                if resource is not None:
                    await self._foreground(resource, owner)

    async def _delete(self, resource: ResourceType, obj: JsonObject, propagation: str) -> None:
        meta = obj["metadata"]
        options = DeleteOptions(propagation=propagation, uid=meta["uid"])
        key = key_of(resource, meta.get("namespace"), meta["name"])
        with ignoring("NotFound", "Conflict"):
            await delete(self._context, resource, key, options)

    async def _forget_owners(self, resource: ResourceType, obj: JsonObject, uids: Iterable[str]) -> None:
        gone = set(uids)
        await self._keep(resource, obj, "ownerReferences", lambda owner: owner["uid"] not in gone)

    async def _drop_finalizer(self, resource: ResourceType, obj: JsonObject, finalizer: str) -> None:
        await self._keep(resource, obj, "finalizers", lambda item: item != finalizer)

    async def _keep(
        self, resource: ResourceType, obj: JsonObject, field: str, is_kept: Callable[[Any], bool]
    ) -> None:
        """Keep only some items of a list in the metadata of an object."""

        def filtered(old: JsonObject) -> tuple[JsonObject, bool]:
            kept = [item for item in old["metadata"].pop(field, None) or () if is_kept(item)]
            old["metadata"] |= {field: kept} if kept else {}
            return old, False

        meta = obj["metadata"]
        key = key_of(resource, meta.get("namespace"), meta["name"])
        with ignoring("NotFound", "Conflict"):
            await update(self._context, resource, key, filtered, _OPTIONS)


def _is_foreground(owner: JsonObject | None) -> bool:
    """Whether an owner is deleted after its dependents."""
    return FOREGROUND in ((owner or {}).get("metadata", {}).get("finalizers") or ())


def _blocks_deletion(stored: Stored, uid: str) -> bool:
    owners = orjson.loads(stored.data)["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)
