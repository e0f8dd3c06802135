"""Nulls and defaults: what the server fills in. Knows a schema tree and JSON; works in place on the caller's copy."""

from collections.abc import Iterable
from typing import Any, Final

from picokube.schema.node import Node, Routes, routes_to
from picokube.schema.pruning import copied

_NONE: Final[dict[str, Any]] = {}


def drop_nulls(value: Any, node: Node) -> None:
    """Remove fields that are null where null is not allowed and no default could take its place."""
    if isinstance(value, dict):
        dropped = []
        for name, each in value.items():
            if (child := node.child(name)) is None:
                continue
            if each is None and not child.nullable and child.default is None:
                dropped.append(name)
            elif type(each) is dict or type(each) is list:
                drop_nulls(each, child)
        for name in dropped:
            del value[name]
    elif isinstance(value, list) and node.items is not None:
        for each in value:
            if type(each) is dict or type(each) is list:
                drop_nulls(each, node.items)


def default_routes(node: Node) -> Routes:
    """The ways to every node that has a default."""
    return routes_to(node, lambda each: each.default is not None)


def apply_defaults(value: Any, node: Node, defaulted: Routes, known: Any = None) -> None:
    """Fill in defaults along these routes. What is the very same, at its place, in a `known` value has them."""
    if type(value) is dict:
        was = known if type(known) is dict else _NONE
        for name, child in defaulted[node]:
            present = value.get(name)
            if present is None and child.default is not None and (name not in value or not child.nullable):
                present = value[name] = copied(child.default)
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
    """Defaults for members that share one schema: none is added, a null may be replaced."""
    for key, known in keys:
        if values[key] is None and not node.nullable:
            values[key] = copied(node.default)
        if values[key] is not known:
            apply_defaults(values[key], node, defaulted, known)
