"""Namespaces: adds the default objects to new ones, and empties deleted ones."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from typing import Final

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.lifecycle.worker import ignoring, work
from picokube.apiserver.objects.context import CommittedWrite, ServerContext
from picokube.apiserver.objects.deletion import DeleteOptions, DeleteResult, delete
from picokube.apiserver.objects.object_store import Mutation, create, update
from picokube.apiserver.protocol.messages import IGNORE, Json, JsonObject, WriteOptions
from picokube.apiserver.storage.store import Key

_DONE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reason and message of each condition when nothing holds the namespace."""


class RemainingContent:
    """What a pass over a namespace could not delete."""

    def __init__(self) -> None:
        self._resources: Counter[tuple[str, str]] = Counter()
        self._finalizers: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._resources)

    def add(self, plural: str, group: str, finalizers: Iterable[str]) -> None:
        """Count an object and the finalizers that hold it."""
        self._resources[plural, group] += 1
        self._finalizers.update(finalizers)

    def held(self) -> dict[str, tuple[str, str]]:
        """Reason and message of the conditions that are true."""
        found: dict[str, tuple[str, str]] = {}
        if self._resources:
            counts = [
                f"{plural}.{group} has {count} resource instances"
                for (plural, group), count in self._resources.items()
            ]
            message = f"Some resources are remaining: {', '.join(sorted(counts))}"
            found["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
        if self._finalizers:
            counts = [f"{name} in {count} resource instances" for name, count in self._finalizers.items()]
            message = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(counts))}"
            found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return found


def deletion_conditions(before: Iterable[Json], remaining: RemainingContent, now: str) -> list[JsonObject]:
    """The conditions after a pass. A condition keeps its time while its status is the same; others stay."""
    known = {item["type"]: item for item in before}
    held = remaining.held()
    found = dict(known)
    for kind, done in _DONE.items():
        status = "True" if kind in held else "False"
        reason, message = held.get(kind, done)
        old = known.get(kind) or {}
        since = old["lastTransitionTime"] if old.get("status") == status else now
        found[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
    return [dict(item) for item in found.values()]


log = logging.getLogger(__name__)

ROOT_CERTIFICATE = "kube-root-ca.crt"
FIRST_REVISION = 1
INITIAL_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")
_ROOT_CERTIFICATE_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
_OPTIONS = WriteOptions(manager="kube-controller-manager", validation=IGNORE)
_DELETE = DeleteOptions(propagation="Background")
_LOOK_AGAIN_SECONDS = 0.2
_RETRY_SECONDS = 1.0


class NamespaceController:
    """Follows namespaces."""

    def __init__(self, context: ServerContext, *, authority: str | None = None) -> None:
        self._context = context
        self._authority = authority
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._queued: set[str] = set()
        self._looked_at_again: set[str] = set()
        """Namespaces with a timer: deletions of many objects cause only one check."""
        context.listeners.append(self._on_write)

    def _on_write(self, write: CommittedWrite) -> None:
        if write.resource.qualified == "namespaces" and not write.gone:
            self._enqueue(write.object["metadata"]["name"])
        elif write.gone and (namespace := write.object["metadata"].get("namespace")):
            stored = self._context.store.get(Key("namespaces", "", namespace))
            if stored is not None and b'"deletionTimestamp"' in stored.data:
                self._look_again(namespace)

    def _enqueue(self, name: str) -> None:
        if name not in self._queued:
            self._queued.add(name)
            self._queue.put_nowait(name)

    def _look_again(self, name: str, seconds: float = _LOOK_AGAIN_SECONDS) -> None:
        """Check the namespace in a moment, once, however often this is called until then."""

        def due() -> None:
            self._looked_at_again.discard(name)
            self._enqueue(name)

        if name not in self._looked_at_again:
            self._looked_at_again.add(name)
            asyncio.get_running_loop().call_later(seconds, due)

    async def run(self) -> None:
        """Until cancelled."""
        for stored in self._context.store.list("namespaces").objects:
            self._enqueue(stored.key.name)
        await work(self._queue, self._process, self._retry, task="namespace deletion")

    async def _process(self, name: str) -> None:
        self._queued.discard(name)
        await self._look_at(name)

    def _retry(self, name: str) -> None:
        self._look_again(name, _RETRY_SECONDS)

    async def create_initial(self) -> None:
        """Create the initial namespaces, before the server answers requests."""
        resource = self._context.registry.get("", "v1", "namespaces")
        for name in INITIAL_NAMESPACES:
            if self._context.store.get(Key("namespaces", "", name)) is None:
                obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                await create(self._context, resource, None, obj, _OPTIONS)
        if self._context.store.floor == FIRST_REVISION:
            # Revisions before the bootstrap objects are not watchable.
            await self._context.store.compact(self._context.store.revision)

    async def _look_at(self, name: str) -> None:
        stored = self._context.store.get(Key("namespaces", "", name))
        if stored is None:
            return
        namespace = orjson.loads(stored.data)
        if namespace["metadata"].get("deletionTimestamp"):
            await self._empty(namespace)
        else:
            await self._add_defaults(name)

    async def _add_defaults(self, namespace: str) -> None:
        """A service account for pods that name none, and the certificate by which pods know the server."""
        await self._ensure("serviceaccounts", namespace, _object("ServiceAccount", "default"))
        if self._authority is not None:
            certificate = _object("ConfigMap", ROOT_CERTIFICATE) | {"data": {"ca.crt": self._authority}}
            certificate["metadata"]["annotations"] = {
                "kubernetes.io/description": _ROOT_CERTIFICATE_DESCRIPTION
            }
            await self._ensure("configmaps", namespace, certificate)

    async def _ensure(self, plural: str, namespace: str, obj: JsonObject) -> None:
        if self._context.store.get(Key(plural, namespace, obj["metadata"]["name"])) is None:
            await create(
                self._context, self._context.registry.get("", "v1", plural), namespace, obj, _OPTIONS
            )

    async def _empty(self, namespace: JsonObject) -> None:
        """Delete the content of a namespace; once it is empty, remove its finalizer."""
        name = namespace["metadata"]["name"]
        remaining = RemainingContent()
        for resource in {item.stored_as or item.qualified: item for item in self._context.registry}.values():
            if not resource.namespaced or "list" not in resource.verbs:
                continue
            for stored in self._context.store.list(resource.stored_as or resource.qualified, name).objects:
                meta = orjson.loads(stored.data)["metadata"]
                if meta.get("deletionTimestamp") or not await self._delete(resource, stored.key):
                    remaining.add(resource.plural, resource.group, meta.get("finalizers") or ())
        if remaining or _has_finalizers(namespace):
            await self._report(name, remaining)
        if remaining:
            self._look_again(name)
            return
        await self._update(name, _without_finalizers, "finalize")

    async def _report(self, name: str, remaining: RemainingContent) -> None:
        """Write what blocks the deletion into the status, if it is not there already."""

        def reported(old: JsonObject) -> tuple[JsonObject, bool]:
            before = old["status"].get("conditions") or ()
            conditions = deletion_conditions(before, remaining, self._context.now())
            return old | {"status": old["status"] | {"conditions": conditions}}, False

        await self._update(name, reported, "status")

    async def _update(self, name: str, mutation: Mutation, subresource: str) -> None:
        resource, key = self._context.registry.get("", "v1", "namespaces"), Key("namespaces", "", name)
        await update(self._context, resource, key, mutation, _OPTIONS, subresource=subresource)

    async def _delete(self, resource: ResourceType, key: Key) -> bool:
        done: DeleteResult | None = None
        with ignoring("NotFound"):
            done = await delete(self._context, resource, key, _DELETE)
        return done is None or done.gone


def _has_finalizers(namespace: JsonObject) -> bool:
    """Whether other finalizers block the deletion of the namespace."""
    others = [
        finalizer for finalizer in namespace["spec"].get("finalizers") or () if finalizer != "kubernetes"
    ]
    return bool(others or namespace["metadata"].get("finalizers"))


def _object(kind: str, name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


def _without_finalizers(old: JsonObject) -> tuple[JsonObject, bool]:
    old["spec"] = {**(old.get("spec") or {}), "finalizers": []}
    return old, True
