"""Equality and identity of JSON values, duplicates in lists, and correlation of an updated object with the old one.

Kubernetes ignores errors in unchanged parts of an object ("ratcheting"), and runs a rule with oldSelf only if it can
correlate the old value: fields by name, items of a list of type map by their keys, and other items not at all.
"""

from typing import Any, Final

import orjson

from picokube.schema.errors import FieldError, Path, duplicate, invalid
from picokube.schema.node import Node, Routes, routes_to

_UNSPECIFIED: Final = object()


def keyed_routes(node: Node) -> Routes:
    """The routes to lists of type set or map."""
    return routes_to(node, lambda item: item.list_type in {"set", "map"})


def duplicates(obj: Any, node: Node, keyed: Routes) -> list[FieldError]:
    """Errors for duplicate items. Each value is reported once, at its second occurrence."""
    errors: list[FieldError] = []
    if node in keyed and _may_repeat(obj, node, keyed):
        _walk(obj, node, keyed, (), "", errors)
    return errors


def _may_repeat(value: Any, node: Node, keyed: Routes) -> bool:
    """A quick check with possible false positives: in Python, 1 equals true."""
    if type(value) is dict:
        if any(name in value and _may_repeat(value[name], child, keyed) for name, child in keyed[node]):
            return True
        inner = node.additional
        return (
            inner is not None
            and inner in keyed
            and any(_may_repeat(value[name], inner, keyed) for name in value)
        )
    if type(value) is not list:
        return False
    if node.list_type in {"set", "map"} and not _is_distinct(value, node):
        return True
    items = node.items
    return items is not None and items in keyed and any(_may_repeat(item, items, keyed) for item in value)


def _is_distinct(values: list[Any], node: Node) -> bool:
    try:
        if node.list_type == "set":
            return len(set(values)) == len(values)
        if len(node.list_map_keys) == 1:
            name = node.list_map_keys[0]
            return len({value.get(name) for value in values}) == len(values)
        return len({tuple(value.get(name) for name in node.list_map_keys) for value in values}) == len(values)
    except (TypeError, AttributeError):
        # Unhashable items or items that are not objects need the slow check.
        return False


def _walk(value: Any, node: Node, keyed: Routes, at: Path, field: str, errors: list[FieldError]) -> None:
    if isinstance(value, list):
        if node.list_type == "set":
            errors.extend(_repeated_items(value, at, field))
        elif node.list_type == "map":
            errors.extend(_repeated_keys(value, node, at, field))
        if node.items is not None and node.items in keyed:
            for n, item in enumerate(value):
                _walk(item, node.items, keyed, (*at, n), f"{field}[{n}]", errors)
    elif isinstance(value, dict):
        for name, item in value.items():
            child = node.child(name)
            if child is not None and child in keyed:
                _walk(item, child, keyed, (*at, name), node.field_name(field, name), errors)


def _repeated_items(values: list[Any], at: Path, field: str) -> list[FieldError]:
    seen = _second_occurrences([identity(value) for value in values])
    return [duplicate(f"{field}[{n}]", values[n], path=(*at, n)) for n in seen]


def _repeated_keys(values: list[Any], node: Node, at: Path, field: str) -> list[FieldError]:
    for n, item in enumerate(values):
        if item is not None and not isinstance(item, dict):
            problem = "must be an object for an array of list-type map"
            return [invalid(f"{field}[{n}]", item, problem, path=(*at, n))]
    keys = [
        {name: value[name] for name in node.list_map_keys if name in value} if value else {}
        for value in values
    ]
    seen = _second_occurrences(
        [tuple(identity(key.get(name, _UNSPECIFIED)) for name in node.list_map_keys) for key in keys]
    )
    return [duplicate(f"{field}[{n}]", keys[n], path=(*at, n)) for n in seen]


def _second_occurrences(identities: list[Any]) -> list[int]:
    """The indexes of second occurrences."""
    times: dict[Any, int] = {}
    second = []
    for n, item in enumerate(identities):
        times[item] = times.get(item, 0) + 1
        if times[item] == 2:  # noqa: PLR2004 - report the second occurrence
            second.append(n)
    return second


def identity(value: Any) -> Any:
    """A hashable key that is equal for equal JSON: true differs from 1, and 1.0 from 1."""
    if isinstance(value, dict | list):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except (TypeError, ValueError):
            # Too deep, or a large integer: the value is only equal to itself.
            return id(value)
    return (type(value), value)


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
