"""Nulls and defaults: what the server fills in. Knows a schema tree and JSON; works in place on the caller's copy."""

from collections.abc import Iterable
from typing import Any

from jangar.schema.node import Node, Routes, routes_to
from jangar.schema.pruning import copied


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


def apply_defaults(value: Any, node: Node, defaulted: Routes) -> None:
    """Fill in defaults along these routes."""
    if type(value) is dict:
        for name, child in defaulted[node]:
            present = value.get(name)
            if present is None and child.default is not None and (name not in value or not child.nullable):
                present = value[name] = copied(child.default)
            if type(present) is dict or type(present) is list:
                apply_defaults(present, child, defaulted)
        if node.additional is not None and node.additional in defaulted:
            members = [name for name in value if name not in node.properties]
            _fill_members(value, members, node.additional, defaulted)
    elif type(value) is list and node.items is not None and node.items in defaulted:
        _fill_members(value, range(len(value)), node.items, defaulted)


def _fill_members(values: Any, keys: Iterable[str | int], node: Node, defaulted: Routes) -> None:
    """Defaults for members that share one schema: none is added, a null may be replaced."""
    for key in keys:
        if values[key] is None and not node.nullable:
            values[key] = copied(node.default)
        apply_defaults(values[key], node, defaulted)
