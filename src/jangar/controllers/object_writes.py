"""Writes to objects that others write too: always to this very object, and what is done already is success."""

from collections.abc import Mapping, Sequence
from typing import Any

from jangar.domain.job_execution.cleanup import our_finalizer_patch
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.builtin import PODS
from kubekit.client.errors import Conflict, Invalid, NotFound


class ObjectWrites:
    """Patches and deletes, each by uid. Caches know of them at once."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def patch(
        self, informer: Informer, name: str, namespace: str, uid: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        """A JSON patch. Gone is success; a patch that no longer fits means that the object has moved on: Conflict."""
        body = [{"op": "test", "path": "/metadata/uid", "value": uid}, *operations]
        try:
            answer = await self._client.patch(informer.resource, name, namespace, body, kind=PatchKind.JSON)
        except NotFound:
            return
        except Invalid as error:
            raise Conflict(error.message, status=error.status, reason=error.reason) from error
        _note(informer, answer)

    async def merge(
        self, informer: Informer, name: str, namespace: str, uid: str, body: Mapping[str, Any]
    ) -> None:
        """A merge patch. Gone is success."""
        guarded = {**body, "metadata": {"uid": uid, **body.get("metadata", {})}}
        try:
            answer = await self._client.patch(
                informer.resource, name, namespace, guarded, kind=PatchKind.MERGE
            )
        except NotFound:
            return
        _note(informer, answer)

    async def delete(self, informer: Informer, name: str, namespace: str, uid: str) -> None:
        """Gracefully. Gone, or another object of that name, is success."""
        try:
            answer = await self._client.delete(informer.resource, name, namespace, uid=uid)
        except (NotFound, Conflict):
            return
        if answer is None:
            informer.cache.record_delete(namespace, name, uid)
        else:
            _note(informer, answer)

    async def hold(self, informer: Informer, seen: Cached, finalizer: str) -> None:
        """Put a finalizer on the object."""
        finalizers = [*seen.finalizers, finalizer]
        body = {"metadata": {"resourceVersion": seen.resource_version, "finalizers": finalizers}}
        await self.merge(informer, seen.name, seen.namespace, seen.uid, body)

    async def let_go(self, informer: Informer, seen: Cached, finalizer: str) -> None:
        """Take our finalizer, and no other, from the object."""
        patch = our_finalizer_patch(seen.finalizers, frozenset({finalizer}))
        if patch:
            await self.patch(informer, seen.name, seen.namespace, seen.uid, patch)


def _note(informer: Informer, answer: Obj) -> None:
    """An answer that shows an object's last moment means that it is gone; a pod may still be ending."""
    meta = answer["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers"):
        informer.cache.record_write(answer)
    elif informer.resource != PODS:
        informer.cache.record_delete(meta.get("namespace"), meta["name"], meta["uid"])
