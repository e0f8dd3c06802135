"""Nulls and defaults: what the server fills in. Knows a schema tree and JSON; works in place on the caller's copy."""

from typing import Any

from jangar.schema.node import Node
from jangar.schema.pruning import copied


def drop_nulls(value: Any, node: Node) -> None:
    """Remove fields that are null where null is not allowed and no default could take its place."""
    if isinstance(value, dict):
        dropped = []
        for name, each in value.items():
            child = node.child(name)
            if child is None:
                continue
            if each is None:
                if not child.nullable and child.default is None:
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
            if child.default is not None:
                present = value.get(name)
                if present is None and (name not in value or not child.nullable):
                    value[name] = copied(child.default)
            if child in defaulted and name in value:
                apply_defaults(value[name], child, defaulted)
        if node.additional is not None and node.additional in defaulted:
            inner = node.additional
            for name, each in value.items():
                if name not in node.properties:
                    if each is None and not inner.nullable:
                        value[name] = copied(inner.default)
                    apply_defaults(value[name], inner, defaulted)
    elif isinstance(value, list) and node.items is not None and node.items in defaulted:
        for n, each in enumerate(value):
            if each is None and not node.items.nullable:
                value[n] = copied(node.items.default)
            apply_defaults(value[n], node.items, defaulted)


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
