"""Finds duplicates in lists of type set and map, in linear time."""

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
