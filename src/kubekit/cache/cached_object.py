"""A cached object: decoded metadata, and the object as JSON bytes that are decoded on demand."""

from collections import deque
from sys import intern
from typing import Any, NamedTuple, cast

import orjson

from kubekit.client.resource import Obj


class Owner(NamedTuple):
    """An owner reference."""

    uid: str
    kind: str
    name: str
    controller: bool
    api_version: str = ""


class Cached:
    """One immutable version of one object.

    `raw` is the object without `metadata.managedFields`, which are a third of a typical object and unused here; a
    server keeps its own if a PUT omits them. 10,000 objects of 2 KB with their indexes take 30 MB. The decoded form
    takes ten times as much and is kept only for the most recently used objects.
    """

    __slots__ = (
        "_view",
        "creation_timestamp",
        "deletion_timestamp",
        "finalizers",
        "generation",
        "labels",
        "name",
        "namespace",
        "owners",
        "raw",
        "resource_version",
        "revision",
        "uid",
    )

    def __init__(self, obj: Obj) -> None:
        metadata: dict[str, Any] = obj["metadata"]
        if "managedFields" in metadata:
            metadata = {key: value for key, value in metadata.items() if key != "managedFields"}
            obj = {**obj, "metadata": metadata}
        get = metadata.get
        labels = get("labels")
        finalizers = get("finalizers")
        owners = get("ownerReferences")
        self.namespace: str = intern(get("namespace") or "")
        self.name: str = metadata["name"]
        self.uid: str = get("uid", "")
        self.resource_version: str = get("resourceVersion", "")
        self.revision = int(self.resource_version or 0)
        """resourceVersions are ordered integers: documented since Kubernetes 1.35 and true before."""
        self.generation: int = get("generation", 0)
        self.labels: dict[str, str] = (
            {intern(key): intern(value) for key, value in labels.items()} if labels else {}
        )
        self.finalizers: tuple[str, ...] = (
            tuple([intern(finalizer) for finalizer in finalizers]) if finalizers else ()
        )
        self.owners: tuple[Owner, ...] = tuple([_owner(owner) for owner in owners]) if owners else ()
        self.deletion_timestamp: str | None = get("deletionTimestamp")
        self.creation_timestamp: str = get("creationTimestamp") or ""
        # A copy of exact size: orjson over-allocates, 4 KiB for 2 KiB.
        self.raw = bytes(memoryview(orjson.dumps(obj)))
        self._view: Obj | None = None

    @classmethod
    def of(cls, obj: Obj) -> "Cached":
        """From an object as the server sent it, which is not modified."""
        return cls(obj)

    @classmethod
    def adopt(cls, obj: Obj) -> "Cached":
        """From an object that the caller no longer modifies; it becomes the decoded view without copying."""
        obj["metadata"].pop("managedFields", None)
        cached = cls(obj)
        cached._keep_view(obj)
        return cached

    @property
    def annotations(self) -> dict[str, str]:
        return cast("dict[str, str]", self.view["metadata"].get("annotations") or {})

    @property
    def is_being_deleted(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> Owner | None:
        """The owner reference with `controller: true`."""
        return next((owner for owner in self.owners if owner.controller), None)

    @property
    def view(self) -> Obj:
        """The decoded object, shared by all callers: do not modify it."""
        return self._view if self._view is not None else self._keep_view(cast("Obj", orjson.loads(self.raw)))

    def decode(self) -> Obj:
        """A new copy of the object on every call, which the caller may modify."""
        return cast("Obj", orjson.loads(self.raw))

    def _keep_view(self, view: Obj) -> Obj:
        self._view = view
        _recent.add(self)
        return view

    def drop_view(self) -> None:
        """Drop the decoded object and keep the bytes."""
        self._view = None

    def __repr__(self) -> str:
        return f"Cached({self.namespace}/{self.name} {self.uid} at {self.resource_version})"


class _Recent:
    """The most recently used objects, whose decoded form is kept up to a limit of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._objects: deque[Cached] = deque()

    def add(self, cached: Cached) -> None:
        self._objects.append(cached)
        self._bytes += len(cached.raw)
        while self._bytes > self._max_bytes and len(self._objects) > 1:
            oldest = self._objects.popleft()
            self._bytes -= len(oldest.raw)
            oldest.drop_view()


_recent = _Recent(2 * 1024 * 1024)


def _owner(reference: dict[str, Any]) -> Owner:
    return Owner(
        intern(reference["uid"]),
        intern(reference["kind"]),
        intern(reference["name"]),
        bool(reference.get("controller")),
        intern(reference.get("apiVersion", "")),
    )
