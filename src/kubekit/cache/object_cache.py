"""The newest known version of each object of one kind, with secondary indexes.

The higher resourceVersion wins regardless of source (list, watch or own write). A watch delivers versions in order, so
the response to a write that is not newer than the observed version is already in the cache, or was deleted again. An
object is cached as decoded metadata and JSON bytes that are decoded on demand.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from sys import intern
from typing import Any, Final, Literal, NamedTuple, cast

import orjson

from kubekit.client.resource import Obj

OWNER_UID: Final = "owner-uid"
"""The index by the uid of each owner, controlling or not."""
NAMESPACE: Final = "namespace"
"""The index by namespace."""
__all__ = ["Cache", "Cached", "Change", "Handler", "Owner"]
EVERY: Final = ""
"""The scope of all namespaces, and of cluster-scoped kinds."""


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


Indexer = Callable[[Cached], Iterable[str]]
"""Returns the index keys of an object; must be pure."""


def owner_uids(cached: Cached) -> Iterable[str]:
    return [owner.uid for owner in cached.owners]


def label_index(label: str) -> Indexer:
    """Index by the value of a label; objects without it are not indexed."""

    def values(cached: Cached) -> Iterable[str]:
        value = cached.labels.get(label)
        return () if value is None else (value,)

    return values


class Index:
    """Objects by key and uid, in insertion order."""

    __slots__ = ("_by_key", "_keys")

    def __init__(self, keys: Indexer) -> None:
        self._keys = keys
        self._by_key: dict[str, dict[str, Cached]] = {}

    def replace(self, old: Cached | None, new: Cached | None) -> None:
        """Replace an object; a newer version of the same object keeps its position."""
        before = list(self._keys(old)) if old is not None else []
        after = list(self._keys(new)) if new is not None else []
        if new is not None:
            for key in after:
                self._by_key.setdefault(key, {})[new.uid] = new
        if old is not None:
            is_same = new is not None and new.uid == old.uid
            for key in before:
                if not (is_same and key in after):
                    self._remove(key, old.uid)

    def get(self, key: str) -> list[Cached]:
        return list(self._by_key.get(key, _NOTHING).values())

    def keys(self) -> Iterable[str]:
        return self._by_key.keys()

    def _remove(self, key: str, uid: str) -> None:
        objects = self._by_key.get(key)
        if objects is not None:
            objects.pop(uid, None)
            if not objects:
                del self._by_key[key]


_NOTHING: Final[Mapping[str, Cached]] = {}


class Change(NamedTuple):
    """One change of one object. A recreated object is reported as deleted, then added."""

    kind: Literal["added", "changed", "deleted"]
    old: Cached | None
    new: Cached | None

    @property
    def subject(self) -> Cached:
        """The current object, or the last known version of a deleted one."""
        cached = self.new or self.old
        assert cached is not None  # noqa: S101 - a change has at least one side
        return cached


Handler = Callable[[Change], None]


class Cache:
    """Objects of one kind with indexes. Returned lists are copies; objects are immutable."""

    def __init__(
        self,
        indexes: Mapping[str, Indexer] | None = None,
        *,
        admits: Callable[[Cached], bool] = lambda _: True,
        report: Callable[[Exception], None],
    ) -> None:
        self._objects: dict[str, dict[str, Cached]] = {}
        self._size = 0
        self._indexes = {name: Index(keys) for name, keys in (indexes or {}).items()}
        self._indexes.setdefault(OWNER_UID, Index(owner_uids))
        self._admits = admits
        self._report = report
        self._handlers: list[Handler] = []
        self._progress: dict[str, int] = {}
        self._departing: dict[str, str] = {}

    def __len__(self) -> int:
        return self._size

    def get(self, namespace: str | None, name: str) -> Cached | None:
        objects = self._objects.get(namespace or "")
        return objects.get(name) if objects is not None else None

    def all(self, namespace: str | None = None) -> list[Cached]:
        if namespace is not None:
            return list(self._objects.get(namespace, {}).values())
        return [cached for objects in self._objects.values() for cached in objects.values()]

    def by(self, index: str, key: str) -> list[Cached]:
        """The objects under a key of an index. Raises KeyError if there is no such index."""
        if index == NAMESPACE:
            return self.all(key)
        return self._indexes[index].get(key)

    def subscribe(self, handler: Handler) -> None:
        """Call `handler` for each change in order, and now for each existing object as added."""
        self._handlers.append(handler)
        for cached in self.all():
            self._call(handler, Change("added", None, cached))

    def record_write(self, obj: Obj) -> Cached:
        """Store the response to an own write, which the caller must not modify afterward.

        Readers see it at once; the event that the watch delivers later is not reported as a change.
        """
        new = Cached.adopt(obj)
        if (
            new.revision > self._observed_version(new.namespace)
            and new.uid not in self._departing
            and self._admits(new)
        ):
            old = self.get(new.namespace, new.name)
            if old is None or new.revision > old.revision:
                self._put(old, new)
        return new

    def record_delete(self, namespace: str | None, name: str, uid: str) -> None:
        """Remove an object after an own delete that completed; earlier watch events about it are ignored."""
        old = self.get(namespace, name)
        if old is not None and old.uid == uid:
            self._departing[uid] = old.namespace
            self._drop(old)

    # The following methods are for the informer.

    def observed_version(self, place: str) -> int:
        return self._progress.get(place, 0)

    def progressed(self, place: str, resource_version: str) -> None:
        """Record that all events up to this version have been observed."""
        self._progress[place] = _number(resource_version)

    def knows(self, obj: Obj) -> bool:
        """Whether the cache has this version of the object or a newer one."""
        metadata = obj["metadata"]
        old = self.get(metadata.get("namespace"), metadata["name"])
        return (
            old is not None
            and old.uid == metadata.get("uid")
            and old.revision >= _number(metadata.get("resourceVersion", ""))
        )

    def upsert(self, new: Cached) -> None:
        """Store a version from a watch."""
        if new.uid in self._departing:
            return
        old = self.get(new.namespace, new.name)
        if old is None or new.revision > old.revision:
            self._put(old, new)

    def remove_observed(self, last: Cached) -> None:
        """Remove an object that a watch reports as deleted or no longer selected, unless a newer write is known."""
        self._departing.pop(last.uid, None)
        old = self.get(last.namespace, last.name)
        if old is not None and last.revision >= old.revision:
            self._drop(old)

    def replace(self, place: str, listed: Iterable[Cached], resource_version: str) -> None:
        """Apply a complete list: objects missing from it were deleted, unless they were written after the list.

        A list older than the observed version comes from a server that was restored from a backup: then the list
        replaces the cache regardless of versions.
        """
        revision = _number(resource_version)
        is_reset = revision < self.observed_version(place)
        objects = {(cached.namespace, cached.name): cached for cached in listed}
        uids = {cached.uid for cached in objects.values()}
        self._departing = {
            uid: namespace
            for uid, namespace in self._departing.items()
            if not self._is_in(place, namespace) or (uid in uids and not is_reset)
        }
        for old in list(self._within(place)):
            if (old.namespace, old.name) not in objects and (is_reset or old.revision <= revision):
                self._drop(old)
        for new in objects.values():
            if is_reset:
                old_one = self.get(new.namespace, new.name)
                if old_one is None or (old_one.uid, old_one.resource_version) != (
                    new.uid,
                    new.resource_version,
                ):
                    self._put(old_one, new)
            else:
                self.upsert(new)
        self._progress[place] = revision

    def _observed_version(self, namespace: str) -> int:
        return max(self._progress.get(namespace, 0), self._progress.get(EVERY, 0))

    def _within(self, place: str) -> Iterator[Cached]:
        if place == EVERY:
            for objects in self._objects.values():
                yield from objects.values()
        else:
            yield from self._objects.get(place, {}).values()

    @staticmethod
    def _is_in(place: str, namespace: str) -> bool:
        return place in (EVERY, namespace)

    def _put(self, old: Cached | None, new: Cached) -> None:
        if old is not None and old.uid != new.uid:
            self._drop(old)
            old = None
        self._objects.setdefault(new.namespace, {})[new.name] = new
        if old is None:
            self._size += 1
        for index in self._indexes.values():
            index.replace(old, new)
        self._notify(Change("added" if old is None else "changed", old, new))

    def _drop(self, old: Cached) -> None:
        objects = self._objects[old.namespace]
        del objects[old.name]
        if not objects:
            del self._objects[old.namespace]
        self._size -= 1
        for index in self._indexes.values():
            index.replace(old, None)
        self._notify(Change("deleted", old, None))

    def _notify(self, change: Change) -> None:
        for handler in self._handlers:
            self._call(handler, change)

    def _call(self, handler: Handler, change: Change) -> None:
        try:
            handler(change)
        except Exception as error:  # noqa: BLE001 - a failing handler must not affect the others
            self._report(error)


def _number(resource_version: str) -> int:
    return int(resource_version) if resource_version else 0
