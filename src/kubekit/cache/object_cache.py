"""What is known of one kind: the newest version of each object that a list, a watch or an own write has told.

Every fact has a resourceVersion, and the newer wins whatever road it came. A watch tells in the order of versions, so
an answer to a write that is not newer than what the watch has told is already in here, or already gone again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from kubekit.cache.cached_object import Cached, Owner
from kubekit.cache.indexers import NAMESPACE, OWNER_UID, Index, Indexer, owner_uids
from kubekit.client.resource import Obj

__all__ = ["Cache", "Cached", "Change", "Handler", "Owner"]

EVERY: Final = ""
"""The place of all namespaces at once, and of kinds without namespaces."""


class Change(NamedTuple):
    """One step of one object. An object made anew under an old name is first deleted, then added."""

    kind: Literal["added", "changed", "deleted"]
    old: Cached | None
    new: Cached | None

    @property
    def subject(self) -> Cached:
        """The object as it is, or as it was last known."""
        found = self.new or self.old
        assert found is not None  # noqa: S101 - a change has at least one side
        return found


Handler = Callable[[Change], None]


class Cache:
    """Answers are snapshots: lists are the caller's, objects are never changed."""

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
        found = self._objects.get(namespace or "")
        return found.get(name) if found is not None else None

    def all(self, namespace: str | None = None) -> list[Cached]:
        if namespace is not None:
            return list(self._objects.get(namespace, {}).values())
        return [cached for objects in self._objects.values() for cached in objects.values()]

    def by(self, index: str, key: str) -> list[Cached]:
        """The objects under a key of an index. KeyError if the cache has no such index."""
        if index == NAMESPACE:
            return self.all(key)
        return self._indexes[index].get(key)

    def subscribe(self, handler: Handler) -> None:
        """Call `handler` at each change, in order; the objects already here are told to it now, as added."""
        self._handlers.append(handler)
        for cached in self.all():
            self._call(handler, Change("added", None, cached))

    def note_written(self, obj: Obj) -> Cached:
        """The answer to an own write, not to be changed from now on.

        Seen by readers at once; the watch will tell the same, and that is no change.
        """
        new = Cached.taking(obj)
        if new.revision > self._told(new.namespace) and new.uid not in self._departing and self._admits(new):
            old = self.get(new.namespace, new.name)
            if old is None or new.revision > old.revision:
                self._put(old, new)
        return new

    def note_deleted(self, namespace: str | None, name: str, uid: str) -> None:
        """The answer to an own delete that left nothing. What the watch tells of its last days is passed over."""
        old = self.get(namespace, name)
        if old is not None and old.uid == uid:
            self._departing[uid] = old.namespace
            self._drop(old)

    # What follows is the informer's.

    def told(self, place: str) -> int:
        return self._progress.get(place, 0)

    def progressed(self, place: str, resource_version: str) -> None:
        """Everything up to this version has been told."""
        self._progress[place] = _number(resource_version)

    def knows(self, obj: Obj) -> bool:
        """Whether this very version, or a newer one of the same object, is here already."""
        metadata = obj["metadata"]
        old = self.get(metadata.get("namespace"), metadata["name"])
        return (
            old is not None
            and old.uid == metadata.get("uid")
            and old.revision >= _number(metadata.get("resourceVersion", ""))
        )

    def saw(self, new: Cached) -> None:
        """A watch says that an object is so."""
        if new.uid in self._departing:
            return
        old = self.get(new.namespace, new.name)
        if old is None or new.revision > old.revision:
            self._put(old, new)

    def saw_gone(self, last: Cached) -> None:
        """A watch says that an object is no more, or no longer selected. What was written since then stays."""
        self._departing.pop(last.uid, None)
        old = self.get(last.namespace, last.name)
        if old is not None and last.revision >= old.revision:
            self._drop(old)

    def replace(self, place: str, listed: Iterable[Cached], resource_version: str) -> None:
        """A whole list of a place: what is missing in it is gone, unless it was written after the list was made.

        A list older than what was told before comes from a server that has lost its past, say one restored from a
        backup: then the list is the truth and versions mean nothing.
        """
        revision = _number(resource_version)
        is_reset = revision < self.told(place)
        found = {(each.namespace, each.name): each for each in listed}
        uids = {each.uid for each in found.values()}
        self._departing = {
            uid: namespace
            for uid, namespace in self._departing.items()
            if not self._is_in(place, namespace) or (uid in uids and not is_reset)
        }
        for old in list(self._within(place)):
            if (old.namespace, old.name) not in found and (is_reset or old.revision <= revision):
                self._drop(old)
        for new in found.values():
            if is_reset:
                old_one = self.get(new.namespace, new.name)
                if old_one is None or (old_one.uid, old_one.resource_version) != (
                    new.uid,
                    new.resource_version,
                ):
                    self._put(old_one, new)
            else:
                self.saw(new)
        self._progress[place] = revision

    def _told(self, namespace: str) -> int:
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
        self._tell(Change("added" if old is None else "changed", old, new))

    def _drop(self, old: Cached) -> None:
        objects = self._objects[old.namespace]
        del objects[old.name]
        if not objects:
            del self._objects[old.namespace]
        self._size -= 1
        for index in self._indexes.values():
            index.replace(old, None)
        self._tell(Change("deleted", old, None))

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            self._call(handler, change)

    def _call(self, handler: Handler, change: Change) -> None:
        try:
            handler(change)
        except Exception as error:  # noqa: BLE001 - one listener's mistake must not make the others deaf
            self._report(error)


def _number(resource_version: str) -> int:
    return int(resource_version) if resource_version else 0
