"""The committed objects in memory: by key, by resource and namespace in order, by owner. Knows no file and no watch."""

import sys
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from picokube.apiserver.storage.store import Event, EventType, Key, Stored


class Index:
    """What is there now. Everything it answers is immutable."""

    def __init__(self, objects: Iterable[Stored] = ()) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._owned: dict[str, set[Key]] = {}
        for stored in objects:
            self._shelf(stored.key.resource).objects[stored.key] = stored
            self._own(stored)
        for shelf in self._shelves.values():
            shelf.keys = sorted(shelf.objects)

    def get(self, key: Key) -> Stored | None:
        shelf = self._shelves.get(key.resource)
        return shelf.objects.get(key) if shelf else None

    def list(self, resource: str, namespace: str | None) -> Sequence[Stored]:
        """In key order."""
        shelf = self._shelves.get(resource)
        if shelf is None:
            return []
        keys = shelf.keys
        if namespace is not None:
            # No namespace sorts between one and the same with a NUL behind it.
            first = bisect_left(keys, Key(resource, namespace, ""))
            keys = keys[first : bisect_left(keys, Key(resource, namespace + "\0", ""), first)]
        objects = shelf.objects
        return [objects[key] for key in keys]

    def owned_by(self, uid: str) -> Sequence[Stored]:
        """In key order."""
        return [self._shelves[key.resource].objects[key] for key in sorted(self._owned.get(uid, ()))]

    def apply(self, event: Event) -> None:
        """Take over a committed change."""
        stored = event.object
        shelf = self._shelf(stored.key.resource)
        if event.previous is not None:
            self._disown(event.previous)
        if event.type is EventType.DELETED:
            del shelf.objects[stored.key]
            del shelf.keys[bisect_left(shelf.keys, stored.key)]
            return
        if event.previous is None:
            insort(shelf.keys, stored.key)
        shelf.objects[stored.key] = stored
        self._own(stored)

    def _shelf(self, resource: str) -> "_Shelf":
        return self._shelves.setdefault(resource, _Shelf())

    def _own(self, stored: Stored) -> None:
        for uid in stored.owners:
            self._owned.setdefault(uid, set()).add(stored.key)

    def _disown(self, stored: Stored) -> None:
        for uid in stored.owners:
            if keys := self._owned.get(uid):
                keys.discard(stored.key)
                if not keys:
                    del self._owned[uid]


class _Shelf:
    """One resource."""

    __slots__ = ("keys", "objects")

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.objects: dict[Key, Stored] = {}


def lean_key(key: Key) -> Key:
    """The same key, sharing its resource and namespace with all others."""
    return Key(sys.intern(key.resource), sys.intern(key.namespace), key.name)
