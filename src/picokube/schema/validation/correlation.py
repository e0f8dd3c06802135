"""Correlates the values of an updated object with those of the old object.

Kubernetes ignores errors in unchanged parts of an object ("ratcheting"), and runs a rule with oldSelf only if it can
correlate the old value: fields by name, items of a list of type map by their keys, and other items not at all.
"""

from typing import Any, Final

from picokube.schema.node import Node
from picokube.schema.validation.list_types import identity

_SCALARS: Final = (str, int, float)


class Correlation:
    """A value, its old value, and their schema."""

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
        """The old item with the keys of the new item `n`. None if there is none."""
        if self.node.list_type != "map" or not isinstance(self.new, list) or not isinstance(self.old, list):
            return None
        if self._keyed is None:
            self._keyed = {}
            for item in self.old:
                self._keyed.setdefault(_keys(item, self.node), item)
            self._keyed.pop(None, None)
        return self._keyed.get(_keys(self.new[n], self.node))

    @property
    def unchanged(self) -> bool:
        """Whether the value is unchanged. Items of a list of type map may have moved.

        Like in Kubernetes, an object with fields that no schema describes counts as changed.
        """
        if self._same is None:
            self._same = self._compared()
        return self._same

    def _compared(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            fields = (self.key(name) for name in new)
            return len(new) == len(old) and all(field is not None and field.unchanged for field in fields)
        if isinstance(new, list) and isinstance(old, list) and self.node.list_type == "map":
            items = (self.index(n) for n in range(len(new)))
            return len(new) == len(old) and all(item is not None and item.unchanged for item in items)
        return same_json(new, old)


def _keys(item: Any, node: Node) -> Any:
    """The values of the list map keys of an item. None if one is missing or not a scalar."""
    values = [item.get(name) for name in node.list_map_keys] if isinstance(item, dict) else [None]
    return tuple(map(identity, values)) if all(isinstance(value, _SCALARS) for value in values) else None


def same_json(new: Any, old: Any) -> bool:
    """Whether JSON values are equal. Unlike in Python, true differs from 1. Not recursive, so any depth is safe."""
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
