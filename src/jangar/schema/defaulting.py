"""Nulls and defaults: what the server fills in. Knows a schema tree and JSON; works in place on the caller's copy."""

from collections.abc import Iterable
from typing import Any

from jangar.schema.node import Node
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


def apply_defaults(value: Any, node: Node, defaulted: frozenset[Node]) -> None:
    """Fill in defaults. `defaulted` holds the nodes below which there are any, so that others are not entered."""
    if isinstance(value, dict):
        for name, child in node.properties.items():
            if child in defaulted:
                _fill_field(value, name, child, defaulted)
        if node.additional is not None and node.additional in defaulted:
            _fill_members(
                value, [name for name in value if name not in node.properties], node.additional, defaulted
            )
    elif isinstance(value, list) and node.items is not None and node.items in defaulted:
        _fill_members(value, range(len(value)), node.items, defaulted)


def _fill_field(value: dict[str, Any], name: str, child: Node, defaulted: frozenset[Node]) -> None:
    present = value.get(name)
    if present is None and child.default is not None and (name not in value or not child.nullable):
        present = value[name] = copied(child.default)
    if present is not None:
        apply_defaults(present, child, defaulted)


def _fill_members(values: Any, keys: Iterable[str | int], node: Node, defaulted: frozenset[Node]) -> None:
    """Defaults for members that share one schema: none is added, a null may be replaced."""
    for key in keys:
        if values[key] is None and not node.nullable:
            values[key] = copied(node.default)
        apply_defaults(values[key], node, defaulted)


def defaulted_nodes(node: Node) -> frozenset[Node]:
    """Every node that has a default, or has one somewhere below."""
    found: set[Node] = set()
    _collect(node, found)
    return frozenset(found)


def _collect(node: Node, found: set[Node]) -> bool:
    below = [_collect(child, found) for child in node.children()]
    if node.default is not None or any(below):
        found.add(node)
        return True
    return False
