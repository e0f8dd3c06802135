"""Writes shared by the controllers: create, update a status, remove a finalizer, delete. Guarded by the object uid."""

from typing import Any

from kubekit.cache.object_cache import Cache
from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.errors import ApiError, Conflict, Invalid, NotFound
from kubekit.client.resource import Resource

TERMINAL_PHASES = ("Succeeded", "Failed")


class Writer:
    """Writes objects of one kind and records each write in the cache."""

    def __init__(self, client: Client, resource: Resource, cache: Cache) -> None:
        self._client, self._resource, self._cache = client, resource, cache

    async def create(self, obj: Obj) -> Obj:
        created = await self._client.create(self._resource, obj)
        self._cache.record_write(created)
        return created

    async def get(self, namespace: str, name: str) -> Obj | None:
        """The object from the API server, not from the cache."""
        try:
            return await self._client.get(self._resource, name, namespace)
        except NotFound:
            return None

    async def replace_status(self, obj: Obj, status: Obj) -> None:
        """Replace the status. Raises Conflict if the object has changed."""
        written = await self._client.update(self._resource, {**obj, "status": status}, subresource="status")
        self._cache.record_write(written)

    async def patch_status(self, obj: Obj, status: Obj) -> None:
        """Merge fields into the status; lists are replaced. Raises Conflict if the object has changed."""
        meta = obj["metadata"]
        guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        await self._patch(meta, {"metadata": guard, "status": status}, PatchKind.MERGE, subresource="status")

    async def delete(self, obj: Obj, **options: Any) -> None:
        """Delete the object. Does nothing if it is gone or has another uid."""
        meta = obj["metadata"]
        try:
            remaining = await self._client.delete(
                self._resource, meta["name"], meta["namespace"], uid=meta["uid"], **options
            )
        except (NotFound, Conflict):
            return
        if (
            remaining is not None
            and remaining.get("metadata", {}).get("uid") == meta["uid"]
            and _still_exists(remaining)
        ):
            self._cache.record_write(remaining)

    async def remove_finalizer(self, obj: Obj, finalizer: str) -> None:
        """Remove one finalizer and keep the others."""
        meta = obj["metadata"]
        finalizers = list(meta.get("finalizers") or ())
        for _ in range(3):
            if finalizer not in finalizers:
                return
            index = finalizers.index(finalizer)
            body = [
                {"op": "test", "path": "/metadata/uid", "value": meta["uid"]},
                {"op": "test", "path": f"/metadata/finalizers/{index}", "value": finalizer},
                {"op": "remove", "path": f"/metadata/finalizers/{index}"},
            ]
            try:
                await self._patch(meta, body, PatchKind.JSON)
            except (Invalid, Conflict):
                live = await self.get(meta["namespace"], meta["name"])
                if live is None or live["metadata"]["uid"] != meta["uid"]:
                    return
                finalizers = list(live["metadata"].get("finalizers") or ())
            else:
                return
        raise self._too_many_conflicts(meta, finalizer)

    async def remove_finalizer_and_annotate(self, obj: Obj, finalizer: str, *, annotation: str) -> None:
        """Remove one finalizer and set an annotation, in one write."""
        current: Obj | None = obj
        for _ in range(3):
            if current is None or current["metadata"]["uid"] != obj["metadata"]["uid"]:
                return
            meta = current["metadata"]
            change = {
                "uid": meta["uid"],
                "resourceVersion": meta["resourceVersion"],
                "finalizers": [item for item in meta.get("finalizers") or () if item != finalizer],
                "annotations": {annotation: "true"},
            }
            try:
                await self._patch(meta, {"metadata": change}, PatchKind.MERGE)
            except Conflict:
                current = await self.get(meta["namespace"], meta["name"])
            else:
                return
        raise self._too_many_conflicts(obj["metadata"], finalizer)

    async def _patch(self, meta: Obj, body: Any, kind: PatchKind, *, subresource: str = "") -> None:
        """Patch the object and record it in the cache. Does nothing if it is gone."""
        try:
            written = await self._client.patch(
                self._resource, meta["name"], meta["namespace"], body, kind=kind, subresource=subresource
            )
        except NotFound:
            return
        if _still_exists(written):
            self._cache.record_write(written)

    def _too_many_conflicts(self, meta: Obj, finalizer: str) -> ApiError:
        return ApiError(
            f"{self._resource.kind} {meta['name']}: can't remove finalizer {finalizer}: too many conflicts"
        )


def _still_exists(obj: Obj) -> bool:
    """Whether a written object still exists. A deleted object without finalizers and grace period doesn't."""
    meta = obj["metadata"]
    return (
        not meta.get("deletionTimestamp")
        or bool(meta.get("finalizers"))
        or bool(meta.get("deletionGracePeriodSeconds"))
    )
