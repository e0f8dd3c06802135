"""Validates updates with the fast validator without validating unchanged list items again.

Long lists make objects large, and an update usually changes few of their items. Only new items of such a list are
validated.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from picokube.schema.node import Node, Routes

LONG: Final = 16
"""Minimum length of a list whose unchanged items are skipped."""
MAX_COUNT: Final = 32
"""Number of validated objects with long lists to remember."""


class PassedObjects:
    """The objects that passed last, by identity. Keeps references, because an id may be reused."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, Any] = OrderedDict()

    def add(self, obj: Any) -> None:
        self._held[id(obj)] = obj
        if len(self._held) > MAX_COUNT:
            self._held.popitem(last=False)

    def __contains__(self, obj: Any) -> bool:
        return id(obj) in self._held

    def replace(self, old: Any, new: Any) -> None:
        """Replace the old object of an update with the new one."""
        self._held.pop(id(old), None)
        self.add(new)


def list_routes(root: Node) -> Routes:
    """The routes, through properties only, to lists whose items are validated independently.

    Nothing may be skipped below a node with anyOf or similar keywords, or with an enum.
    """
    routes: dict[Node, tuple[tuple[str, Node], ...]] = {}

    def leads(node: Node) -> bool:
        if node.enum or any(node.junctions()):
            return False
        below = tuple((name, child) for name, child in node.properties.items() if leads(child))
        if below or (node.type == "array" and node.items is not None):
            routes[node] = below
            return True
        return False

    leads(root)
    return routes


def has_long_list(value: Any, node: Node, routes: Routes) -> bool:
    if type(value) is list:
        return len(value) >= LONG
    return type(value) is dict and any(
        has_long_list(value[name], child, routes) for name, child in routes[node] if name in value
    )


def without_passed_items(value: Any, old: Any, node: Node, routes: Routes) -> Any:
    """The value without the items of long lists that are in the same list of `old`, which passed."""
    if type(value) is list and type(old) is list:
        return _new_items(value, old, node)
    if type(value) is not dict or type(old) is not dict:
        return value
    shown: Mapping[str, Any] = value
    for name, child in routes[node]:
        if name in value and name in old:
            part = without_passed_items(value[name], old[name], child, routes)
            if part is not value[name]:
                shown = {**shown, name: part}
    return shown


def _new_items(value: list[Any], old: list[Any], node: Node) -> list[Any]:
    if len(value) < LONG or (node.max_items is not None and len(value) > node.max_items):
        return value
    known = set(map(id, old))
    new = [item for item in value if id(item) not in known]
    return value if node.min_items is not None and len(new) < node.min_items else new
