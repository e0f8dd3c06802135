"""Secondary indexes of a cache."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kubekit.cache.cached_object import Cached

Indexer = Callable[[Cached], Iterable[str]]
"""Returns the index keys of an object; must be pure."""

OWNER_UID: Final = "owner-uid"
"""The index by the uid of each owner, controlling or not."""

NAMESPACE: Final = "namespace"
"""The index by namespace."""


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
