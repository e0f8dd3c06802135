"""An object as a cache keeps it: metadata to decide by, and the whole as bytes to decode when it is needed."""

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
    """One version of one object, never changed.

    `raw` is the object written anew, without `metadata.managedFields`: those are a third of a real object, nobody
    here reads them, and a server that gets a PUT without them keeps its own. 10,000 objects of 2 KB with their indexes
    take 30 MB. The decoded form takes ten times as much and is kept only of what was looked at last.
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
        """Versions are ordered numbers: Kubernetes says so since 1.35 and did so before."""
        self.generation: int = get("generation", 0)
        self.labels: dict[str, str] = (
            {intern(key): intern(value) for key, value in labels.items()} if labels else {}
        )
        self.finalizers: tuple[str, ...] = tuple([intern(each) for each in finalizers]) if finalizers else ()
        self.owners: tuple[Owner, ...] = tuple([_owner(each) for each in owners]) if owners else ()
        self.deletion_timestamp: str | None = get("deletionTimestamp")
        self.creation_timestamp: str = get("creationTimestamp") or ""
        # A copy of the right size: orjson's own keeps the room that it wrote in, 4 KiB for 2 KiB.
        self.raw = bytes(memoryview(orjson.dumps(obj)))
        self._view: Obj | None = None

    @classmethod
    def of(cls, obj: Obj) -> "Cached":
        """From an object as the server sent it, which is left as it is."""
        return cls(obj)

    @classmethod
    def taking(cls, obj: Obj) -> "Cached":
        """The same of an object that nobody changes from now on: it need not be decoded to be looked at."""
        obj["metadata"].pop("managedFields", None)
        made = cls(obj)
        made._look(obj)
        return made

    @property
    def annotations(self) -> dict[str, str]:
        return cast("dict[str, str]", self.view["metadata"].get("annotations") or {})

    @property
    def is_being_deleted(self) -> bool:
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> Owner | None:
        """The one owner that manages this object."""
        return next((owner for owner in self.owners if owner.controller), None)

    @property
    def view(self) -> Obj:
        """The object, shared by all who look at it: not to be changed."""
        return self._view if self._view is not None else self._look(cast("Obj", orjson.loads(self.raw)))

    def decode(self) -> Obj:
        """The object, fresh on every call: it may be changed freely."""
        return cast("Obj", orjson.loads(self.raw))

    def _look(self, view: Obj) -> Obj:
        self._view = view
        _recent.add(self)
        return view

    def look_away(self) -> None:
        """Keep the bytes alone."""
        self._view = None

    def __repr__(self) -> str:
        return f"Cached({self.namespace}/{self.name} {self.uid} at {self.resource_version})"


class _Recent:
    """The objects whose decoded form is kept: the latest, as many as their bytes allow."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes = 0
        self._objects: deque[Cached] = deque()

    def add(self, cached: Cached) -> None:
        self._objects.append(cached)
        self._bytes += len(cached.raw)
        while self._bytes > self._most and len(self._objects) > 1:
            oldest = self._objects.popleft()
            self._bytes -= len(oldest.raw)
            oldest.look_away()


_recent = _Recent(2 * 1024 * 1024)


def _owner(reference: dict[str, Any]) -> Owner:
    return Owner(
        intern(reference["uid"]),
        intern(reference["kind"]),
        intern(reference["name"]),
        bool(reference.get("controller")),
        intern(reference.get("apiVersion", "")),
    )
