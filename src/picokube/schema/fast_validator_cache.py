"""Whether an object passes the gate, without showing the gate again what passed before.

Long lists are what makes objects large, and an update changes few of their items. What the gate let through once it
lets through again, so that of such a list only new items are shown to it. Knows nodes and JSON.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from picokube.schema.node import Node, Routes

LONG: Final = 16
"""From so many items on, a list is shown in part."""
MOST: Final = 32
"""So many objects with long lists are known to have passed."""


class Passed:
    """The objects that passed last, by identity. They are held, so that no other object has theirs."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, Any] = OrderedDict()

    def add(self, obj: Any) -> None:
        self._held[id(obj)] = obj
        if len(self._held) > MOST:
            self._held.popitem(last=False)

    def __contains__(self, obj: Any) -> bool:
        return id(obj) in self._held

    def replace(self, old: Any, new: Any) -> None:
        """An update leaves nothing to know about what it updated."""
        self._held.pop(id(old), None)
        self.add(new)


def list_routes(root: Node) -> Routes:
    """The ways, by properties alone, to lists that the gate judges item by item.

    Where a node is judged as a whole too (by anyOf and its like, or by an enum), nothing below may be left out.
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


def unseen(value: Any, old: Any, node: Node, routes: Routes) -> Any:
    """The value without those items of long lists that are items of the same list of `old`, which passed."""
    if type(value) is list and type(old) is list:
        return _unseen_items(value, old, node)
    if type(value) is not dict or type(old) is not dict:
        return value
    shown: Mapping[str, Any] = value
    for name, child in routes[node]:
        if name in value and name in old:
            part = unseen(value[name], old[name], child, routes)
            if part is not value[name]:
                shown = {**shown, name: part}
    return shown


def _unseen_items(value: list[Any], old: list[Any], node: Node) -> list[Any]:
    if len(value) < LONG or (node.max_items is not None and len(value) > node.max_items):
        return value
    known = set(map(id, old))
    new = [each for each in value if id(each) not in known]
    return value if node.min_items is not None and len(new) < node.min_items else new
