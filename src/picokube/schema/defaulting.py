"""Drops nulls and applies defaults in place."""

from collections.abc import Iterable
from typing import Any, Final

from picokube.schema.node import Node, Routes, routes_to
from picokube.schema.pruning import deep_copy

_NONE: Final[dict[str, Any]] = {}


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
