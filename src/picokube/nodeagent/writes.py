"""Writes that several controllers make: a status, a finalizer taken away, a delete. Each names the object by uid."""

from typing import Any

from kubekit.cache.object_cache import Cache
from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.errors import ApiError, Conflict, Invalid, NotFound
from kubekit.client.resource import Resource


class Writer:
    """One kind: what is written is seen in its cache at once."""

    def __init__(self, client: Client, resource: Resource, cache: Cache) -> None:
        self._client, self._resource, self._cache = client, resource, cache

    async def create(self, obj: Obj) -> Obj:
        made = await self._client.create(self._resource, obj)
        self._cache.note_written(made)
        return made

    async def live(self, namespace: str, name: str) -> Obj | None:
        """As the server has it now."""
        try:
            return await self._client.get(self._resource, name, namespace)
        except NotFound:
            return None

    async def replace_status(self, obj: Obj, status: Obj) -> None:
        """Only if nobody wrote in between. Raises Conflict."""
        written = await self._client.update(self._resource, {**obj, "status": status}, subresource="status")
        self._cache.note_written(written)

    async def patch_status(self, obj: Obj, status: Obj) -> None:
        """Parts of a status, only if nobody wrote in between: lists are replaced whole. Raises Conflict."""
        meta = obj["metadata"]
        guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        try:
            written = await self._client.patch(
                self._resource,
                meta["name"],
                meta["namespace"],
                {"metadata": guard, "status": status},
                kind=PatchKind.MERGE,
                subresource="status",
            )
        except NotFound:
            return
        self._cache.note_written(written)

    async def delete(self, obj: Obj, **options: Any) -> None:
        """Gone already, or another of that name, is as good."""
        meta = obj["metadata"]
        try:
            left = await self._client.delete(
                self._resource, meta["name"], meta["namespace"], uid=meta["uid"], **options
            )
        except (NotFound, Conflict):
            return
        if left is not None and left.get("metadata", {}).get("uid") == meta["uid"] and _is_held(left):
            self._cache.note_written(left)

    async def release(self, obj: Obj, finalizer: str) -> None:
        """Take away one finalizer and touch no other."""
        meta = obj["metadata"]
        finalizers = list(meta.get("finalizers") or ())
        for _ in range(3):
            if finalizer not in finalizers:
                return
            place = finalizers.index(finalizer)
            body = [
                {"op": "test", "path": "/metadata/uid", "value": meta["uid"]},
                {"op": "test", "path": f"/metadata/finalizers/{place}", "value": finalizer},
                {"op": "remove", "path": f"/metadata/finalizers/{place}"},
            ]
            try:
                written = await self._client.patch(
                    self._resource, meta["name"], meta["namespace"], body, kind=PatchKind.JSON
                )
            except NotFound:
                return
            except (Invalid, Conflict):
                live = await self.live(meta["namespace"], meta["name"])
                if live is None or live["metadata"]["uid"] != meta["uid"]:
                    return
                finalizers = list(live["metadata"].get("finalizers") or ())
                continue
            if _is_held(written):
                self._cache.note_written(written)
            return
        raise ApiError(f"{self._resource.kind} {meta['name']}: finalizers change too often")

    async def let_go(self, obj: Obj, finalizer: str, *, mark: str) -> None:
        """Take away one finalizer and say so by an annotation, in one write."""
        found: Obj | None = obj
        for _ in range(3):
            if found is None or found["metadata"]["uid"] != obj["metadata"]["uid"]:
                return
            meta = found["metadata"]
            change = {
                "uid": meta["uid"],
                "resourceVersion": meta["resourceVersion"],
                "finalizers": [each for each in meta.get("finalizers") or () if each != finalizer],
                "annotations": {mark: "true"},
            }
            try:
                written = await self._client.patch(
                    self._resource,
                    meta["name"],
                    meta["namespace"],
                    {"metadata": change},
                    kind=PatchKind.MERGE,
                )
            except NotFound:
                return
            except Conflict:
                found = await self.live(meta["namespace"], meta["name"])
                continue
            if _is_held(written):
                self._cache.note_written(written)
            return
        raise ApiError(f"{self._resource.kind} {obj['metadata']['name']}: it changes too often")


def _is_held(obj: Obj) -> bool:
    """Whether an object that was written is still there: one that leaves and is held by nobody is not."""
    meta = obj["metadata"]
    return (
        not meta.get("deletionTimestamp")
        or bool(meta.get("finalizers"))
        or bool(meta.get("deletionGracePeriodSeconds"))
    )
