"""Drops fields that the schema doesn't specify, drops nulls and applies defaults."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from picokube.schema.errors import UnknownField
from picokube.schema.node import Node, Routes, routes_to

_ANY: Final = Node()
_TEXTS: Final = Node(type="object", additional=_ANY, has_additional=True)
_OPEN: Final = Node(type="object", preserves_unknown=True)
_META: Final = frozenset({"apiVersion", "kind", "metadata"})
_EMPTY: Final[tuple[object, ...]] = (None, "", 0, False, [], {})
_NONE: Final[dict[str, Any]] = {}
_Link = tuple[int, Any] | None


def _object_node(names: str, **others: Node) -> Node:
    fields: Mapping[str, Node] = {**dict.fromkeys(names.split(), _ANY), **others}
    return Node(type="object", properties=fields)


_OWNER: Final = _object_node("apiVersion kind name uid controller blockOwnerDeletion")
_MANAGED: Final = _object_node("manager operation apiVersion time fieldsType subresource", fieldsV1=_OPEN)
_OBJECT_META: Final = _object_node(
    "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds finalizers",
    labels=_TEXTS,
    annotations=_TEXTS,
    ownerReferences=Node(type="array", items=_OWNER),
    managedFields=Node(type="array", items=_MANAGED),
)


@dataclass(slots=True)
class _DroppedFields:
    """The dropped fields of a walk. Paths are built from the end, only for dropped fields."""

    unknown: list[list[str | int]] = field(default_factory=list)
    nulls: bool = False

    def inside(self, step: str | int, since: int) -> None:
        for path in self.unknown[since:]:
            path.append(step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    kept: dict[str, Any]
    unknown: list[UnknownField]
    has_nulls: bool


def prune(obj: Mapping[str, Any], node: Node, known: Mapping[str, Any] | None = None) -> Pruned:
    """A copy of the resource `obj` without unknown fields, and the sorted unknown fields.

    apiVersion, kind and metadata are kept. Values below x-kubernetes-preserve-unknown-fields that no schema describes
    are shared, not copied. So are values that are identical in a `known` resource that was pruned before.
    """
    dropped = _DroppedFields()
    kept = _object(obj, node, dropped, known, embedded=True, root=True)
    # A server doesn't report metadata that it drops from the root.
    fields = [UnknownField(path=tuple(reversed(path))) for path in dropped.unknown]
    fields.sort(key=lambda item: item.field)
    return Pruned(kept=kept, unknown=fields, has_nulls=dropped.nulls)


def pruned_value(value: Any, node: Node) -> Any:
    """A copy of `value`, a part of a resource, without unknown fields."""
    return _value(value, node, _DroppedFields())


def _value(value: Any, node: Node | None, dropped: _DroppedFields, known: Any = None) -> Any:
    if type(value) is dict:
        return _object(value, node, dropped, known, embedded=node is not None and node.embedded)
    if type(value) is not list:
        dropped.nulls = dropped.nulls or value is None
        return value
    if node is None:
        return _without_schema(value, dropped)
    if node.preserves_unknown:
        return value if node.items is None else _members(value, node.items, dropped, _kept, known)
    if not any(type(item) is dict or type(item) is list for item in value):
        return value.copy()
    return _members(value, node.items, dropped, _value, known)


def _members(
    values: list[Any], items: Node | None, dropped: _DroppedFields, walk: "_Walk", known: Any
) -> list[Any]:
    kept = []
    was = known if type(known) is list else ()
    shared = len(was)
    for n, item in enumerate(values):
        before = was[n] if n < shared else None
        if item is before and item is not None:
            kept.append(item)
            continue
        since = len(dropped.unknown)
        kept.append(walk(item, items, dropped, before))
        if len(dropped.unknown) > since:
            dropped.inside(n, since)
    return kept


_Walk = Callable[[Any, Node | None, _DroppedFields, Any], Any]


def _object(
    value: Mapping[str, Any],
    node: Node | None,
    dropped: _DroppedFields,
    known: Any = None,
    *,
    embedded: bool,
    root: bool = False,
) -> dict[str, Any]:
    if node is None:
        dropped.unknown.extend([name] for name in value)
        return {}
    kept: dict[str, Any] = {}
    properties, additional, preserve = node.properties, node.has_additional, node.preserves_unknown
    was = known if type(known) is dict else _NONE
    for name, item in value.items():
        child = properties.get(name)
        if embedded and name in _META:
            kept[name] = item if name != "metadata" else deep_copy(item) if root else _metadata(item, dropped)
        elif child is not None or additional:
            kind = type(item)
            if kind is dict or kind is list:
                before = was.get(name)
                if item is before:
                    kept[name] = item
                    continue
                since = len(dropped.unknown)
                kept[name] = _value(item, child if child is not None else node.additional, dropped, before)
                if len(dropped.unknown) > since:
                    dropped.inside(name, since)
            else:
                dropped.nulls = dropped.nulls or item is None
                kept[name] = item
        elif preserve:
            kept[name] = item
        else:
            dropped.unknown.append([name])
    return kept


def _metadata(value: Any, dropped: _DroppedFields) -> Any:
    """The metadata of an embedded resource: only known and non-empty fields."""
    if type(value) is not dict:
        return deep_copy(value)
    since = len(dropped.unknown)
    kept = _object(value, _OBJECT_META, dropped, embedded=False)
    dropped.inside("metadata", since)
    return {name: item for name, item in kept.items() if item not in _EMPTY}


def _kept(value: Any, node: Node | None, dropped: _DroppedFields, known: Any = None) -> Any:
    """Below a list that preserves unknown fields: prune, but keep values without a schema."""
    if node is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return _members(value, node.items, dropped, _kept, known)
    return _object(value, replace(node, preserves_unknown=True), dropped, known, embedded=node.embedded)


def _without_schema(values: list[Any], dropped: _DroppedFields) -> list[Any]:
    """Keep lists and scalars and drop all fields of objects. Iterative, so any depth is safe."""
    root = values.copy()
    left: list[tuple[list[Any], _Link]] = [(root, None)]
    while left:
        kept, link = left.pop()
        for n, item in enumerate(kept):
            if isinstance(item, dict):
                kept[n] = {}
                dropped.unknown.extend([name, n, *_followed(link)] for name in item)
            elif isinstance(item, list):
                kept[n] = item.copy()
                left.append((kept[n], (n, link)))
    return root


def _followed(link: "_Link") -> Iterator[int]:
    while link is not None:
        n, link = link
        yield n


def deep_copy(value: Any) -> Any:
    """A deep copy of plain JSON. Iterative, so any depth is safe."""
    if not isinstance(value, dict | list):
        return value
    root: dict[str, Any] | list[Any] = value.copy()
    left: list[Any] = [root]
    while left:
        each = left.pop()
        for key, inner in each.items() if isinstance(each, dict) else enumerate(each):
            if isinstance(inner, dict | list):
                each[key] = inner.copy()
                left.append(each[key])
    return root


def drop_nulls(value: Any, node: Node) -> None:
    """Remove null fields that are not nullable and have no default."""
    if isinstance(value, dict):
        dropped = []
        for name, item in value.items():
            if (child := node.child(name)) is None:
                continue
            if item is None and not child.nullable and child.default is None:
                dropped.append(name)
            elif type(item) is dict or type(item) is list:
                drop_nulls(item, child)
        for name in dropped:
            del value[name]
    elif isinstance(value, list) and node.items is not None:
        for item in value:
            if type(item) is dict or type(item) is list:
                drop_nulls(item, node.items)


def default_routes(node: Node) -> Routes:
    """The routes to nodes with a default."""
    return routes_to(node, lambda item: item.default is not None)


def apply_defaults(value: Any, node: Node, defaulted: Routes, known: Any = None) -> None:
    """Apply defaults along these routes. Skips values that are identical in a `known` value, which has them."""
    if type(value) is dict:
        was = known if type(known) is dict else _NONE
        for name, child in defaulted[node]:
            present = value.get(name)
            if present is None and child.default is not None and (name not in value or not child.nullable):
                present = value[name] = deep_copy(child.default)
            if (type(present) is dict or type(present) is list) and present is not was.get(name):
                apply_defaults(present, child, defaulted, was.get(name))
        if node.additional is not None and node.additional in defaulted:
            members = [name for name in value if name not in node.properties]
            _fill_members(value, [(name, was.get(name)) for name in members], node.additional, defaulted)
    elif type(value) is list and node.items is not None and node.items in defaulted:
        before = known[: len(value)] if type(known) is list else []
        before += [None] * (len(value) - len(before))
        _fill_members(value, enumerate(before), node.items, defaulted)


def _fill_members(values: Any, keys: Iterable[tuple[str | int, Any]], node: Node, defaulted: Routes) -> None:
    """Apply defaults to items or values that share a schema: only nulls are replaced."""
    for key, known in keys:
        if values[key] is None and not node.nullable:
            values[key] = deep_copy(node.default)
        if values[key] is not known:
            apply_defaults(values[key], node, defaulted, known)
