"""Under which keys a cached object is found besides its name."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kubekit.cache.cached_object import Cached

Indexer = Callable[[Cached], Iterable[str]]
"""Pure: asked again for the same object, it gives the same keys."""

OWNER_UID: Final = "owner-uid"
"""The index of every cache by the uid of each owner, controlling or not."""

NAMESPACE: Final = "namespace"
"""The index of every cache by namespace."""


def owner_uids(cached: Cached) -> Iterable[str]:
    return [owner.uid for owner in cached.owners]


def label_index(label: str) -> Indexer:
    """By the value of a label; objects without it are not in the index."""

    def values(cached: Cached) -> Iterable[str]:
        value = cached.labels.get(label)
        return () if value is None else (value,)

    return values


class Index:
    """Objects by key and uid, in the order in which they came."""

    __slots__ = ("_by_key", "_keys")

    def __init__(self, keys: Indexer) -> None:
        self._keys = keys
        self._by_key: dict[str, dict[str, Cached]] = {}

    def replace(self, old: Cached | None, new: Cached | None) -> None:
        """Take out the one, put in the other; the same object in a newer version keeps its place."""
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
        found = self._by_key.get(key)
        if found is not None:
            found.pop(uid, None)
            if not found:
                del self._by_key[key]


_NOTHING: Final[Mapping[str, Cached]] = {}
