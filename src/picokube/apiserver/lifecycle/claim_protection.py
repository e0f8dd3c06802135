"""Removes the finalizer of a deleted claim once no pod on a node uses it."""

import asyncio
import logging

import orjson

from picokube.apiserver.lifecycle.worker import work
from picokube.apiserver.objects.context import CommittedWrite, ServerContext
from picokube.apiserver.objects.object_store import update
from picokube.apiserver.protocol.messages import IGNORE, JsonObject, WriteOptions
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.core.volumes import PROTECTION

log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
CLAIMS, PODS = "persistentvolumeclaims", "pods"
_OPTIONS = WriteOptions(manager="kube-controller-manager", validation=IGNORE)


class ClaimProtection:
    """A queue of claims to check; checking twice does no harm."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        context.listeners.append(self._on_write)

    def _on_write(self, write: CommittedWrite) -> None:
        meta = write.object["metadata"]
        match write.resource.qualified:
            case "persistentvolumeclaims" if meta.get("deletionTimestamp") and not write.gone:
                self._queue.put_nowait(Key(CLAIMS, meta["namespace"], meta["name"]))
            case "pods" if write.gone:
                for name in claims_of(write.object):
                    self._queue.put_nowait(Key(CLAIMS, meta["namespace"], name))

    async def run(self) -> None:
        """Until cancelled."""
        for stored in self._context.store.list(CLAIMS).objects:
            self._queue.put_nowait(stored.key)
        await work(self._queue, self._look_at, self._retry, task="claim protection")

    def _retry(self, key: Key) -> None:
        asyncio.get_running_loop().call_later(RETRY_SECONDS, self._queue.put_nowait, key)

    async def _look_at(self, key: Key) -> None:
        stored = self._context.store.get(key)
        if stored is None:
            return
        meta = orjson.loads(stored.data)["metadata"]
        has_finalizer = meta.get("deletionTimestamp") and PROTECTION in (meta.get("finalizers") or ())
        if has_finalizer and not self._is_used(key):
            resource = self._context.registry.get("", "v1", CLAIMS)
            await update(self._context, resource, key, _without_finalizer, _OPTIONS)

    def _is_used(self, key: Key) -> bool:
        pods = self._context.store.list(PODS, key.namespace).objects
        return any(key.name in claims_of(orjson.loads(pod.data)) for pod in pods)


def claims_of(pod: JsonObject) -> list[str]:
    """Claims that a pod uses. One without a node never got to use any, and will not start with one that is deleted."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName"):
        return []
    named = [volume.get("persistentVolumeClaim") or {} for volume in spec.get("volumes") or ()]
    return [item["claimName"] for item in named if item.get("claimName")]


def _without_finalizer(old: JsonObject) -> tuple[JsonObject, bool]:
    meta = old["metadata"]
    meta["finalizers"] = [finalizer for finalizer in meta.get("finalizers") or () if finalizer != PROTECTION]
    return old, False
