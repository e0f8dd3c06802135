"""Which old value an updated one came from. Knows schemas and JSON; decides nothing about either.

Kubernetes forgives an error in a part of an object that an update leaves alone ("ratcheting"), and runs a rule
about oldSelf only where it knows the old value: fields go by name, items of a map list by their keys, other
items not at all.
"""

from typing import Any, Final

from picokube.schema.listtypes import identity
from picokube.schema.node import Node

_SCALARS: Final = (str, int, float)


class Correlation:
    """A value, the one it replaces, and their schema."""

    __slots__ = ("_keyed", "_same", "new", "node", "old")

    def __init__(self, new: Any, old: Any, node: Node) -> None:
        self.new, self.old, self.node = new, old, node
        self._same: bool | None = None
        self._keyed: dict[Any, Any] | None = None

    def key(self, name: str) -> "Correlation | None":
        new, old = self.new, self.old
        if not isinstance(new, dict) or not isinstance(old, dict) or name not in new or name not in old:
            return None
        child = self.node.child(name)
        return None if child is None else Correlation(new[name], old[name], child)

    def index(self, n: int) -> "Correlation | None":
        old = self.old_item(n)
        return (
            None if old is None or self.node.items is None else Correlation(self.new[n], old, self.node.items)
        )

    def old_item(self, n: int) -> Any:
        """The old item that has the keys of the new item `n`, if there is one."""
        if self.node.list_type != "map" or not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        if self._keyed is None:
            self._keyed = {}
            for each in self.old:
                self._keyed.setdefault(_keys(each, self.node), each)
            self._keyed.pop(None, None)
        return self._keyed.get(_keys(self.new[n], self.node))

    @property
    def unchanged(self) -> bool:
        """Whether the update left this value alone. Items of a map list may have moved.

        A field that no schema describes makes its object count as changed, as it does for Kubernetes.
        """
        if self._same is None:
            self._same = self._compared()
        return self._same

    def _compared(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            fields = (self.key(name) for name in new)
            return len(new) == len(old) and all(each is not None and each.unchanged for each in fields)
        if isinstance(new, list) and isinstance(old, list) and self.node.list_type == "map":
            items = (self.index(n) for n in range(len(new)))
            return len(new) == len(old) and all(each is not None and each.unchanged for each in items)
        return same_json(new, old)


def _keys(item: Any, node: Node) -> Any:
    """What tells an item from the others; None when a key is missing or is no scalar."""
    values = [item.get(name) for name in node.list_map_keys] if isinstance(item, dict) else [None]
    return tuple(map(identity, values)) if all(isinstance(each, _SCALARS) for each in values) else None


def same_json(new: Any, old: Any) -> bool:
    """Equality of JSON values, where Python's would take true for 1. It does not recurse, so depth is no danger."""
    left = [(new, old)]
    while left:
        a, b = left.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if a.keys() != b.keys():
                return False
            left.extend((a[name], b[name]) for name in a)
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            left.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True
