"""Uniqueness in lists of type set and map. Knows schemas and JSON; hashes, so wide lists stay linear."""

from typing import Any, Final

import orjson

from picokube.schema.errors import FieldError, Path, duplicate, invalid
from picokube.schema.node import Node, Routes, routes_to

_UNSPECIFIED: Final = object()


def keyed_routes(node: Node) -> Routes:
    """The ways to every list of type set or map."""
    return routes_to(node, lambda each: each.list_type in {"set", "map"})


def duplicates(obj: Any, node: Node, keyed: Routes) -> list[FieldError]:
    """Items that repeat an earlier one; each repeated value is told once, at its second place."""
    errors: list[FieldError] = []
    if node in keyed and _may_repeat(obj, node, keyed):
        _walk(obj, node, keyed, (), "", errors)
    return errors


def _may_repeat(value: Any, node: Node, keyed: Routes) -> bool:
    """A quick look, which may be wrong only when it says yes: Python takes 1 for true, Kubernetes does not."""
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
    return items is not None and items in keyed and any(_may_repeat(each, items, keyed) for each in value)


def _is_distinct(values: list[Any], node: Node) -> bool:
    try:
        if node.list_type == "set":
            return len(set(values)) == len(values)
        if len(node.list_map_keys) == 1:
            name = node.list_map_keys[0]
            return len({each.get(name) for each in values}) == len(values)
        return len({tuple(each.get(name) for name in node.list_map_keys) for each in values}) == len(values)
    except (TypeError, AttributeError):
        # Items that cannot be hashed, or are no objects: the slow way knows.
        return False


def _walk(value: Any, node: Node, keyed: Routes, at: Path, field: str, errors: list[FieldError]) -> None:
    if isinstance(value, list):
        if node.list_type == "set":
            errors.extend(_repeated_items(value, at, field))
        elif node.list_type == "map":
            errors.extend(_repeated_keys(value, node, at, field))
        if node.items is not None and node.items in keyed:
            for n, each in enumerate(value):
                _walk(each, node.items, keyed, (*at, n), f"{field}[{n}]", errors)
    elif isinstance(value, dict):
        for name, each in value.items():
            child = node.child(name)
            if child is not None and child in keyed:
                inner = f"{field}.{name}" if field else name
                inner = inner if name in node.properties else f"{field}[{name}]"
                _walk(each, child, keyed, (*at, name), inner, errors)


def _repeated_items(values: list[Any], at: Path, field: str) -> list[FieldError]:
    seen = _repeated([identity(each) for each in values])
    return [duplicate(f"{field}[{n}]", values[n], path=(*at, n)) for n in seen]


def _repeated_keys(values: list[Any], node: Node, at: Path, field: str) -> list[FieldError]:
    for n, each in enumerate(values):
        if each is not None and not isinstance(each, dict):
            problem = "must be an object for an array of list-type map"
            return [invalid(f"{field}[{n}]", each, problem, path=(*at, n))]
    keys = [
        {name: each[name] for name in node.list_map_keys if name in each} if each else {} for each in values
    ]
    seen = _repeated(
        [tuple(identity(key.get(name, _UNSPECIFIED)) for name in node.list_map_keys) for key in keys]
    )
    return [duplicate(f"{field}[{n}]", keys[n], path=(*at, n)) for n in seen]


def _repeated(identities: list[Any]) -> list[int]:
    """Where a value stands for the second time."""
    times: dict[Any, int] = {}
    second = []
    for n, each in enumerate(identities):
        times[each] = times.get(each, 0) + 1
        if times[each] == 2:  # noqa: PLR2004 - the second of them is the one told
            second.append(n)
    return second


def identity(value: Any) -> Any:
    """Something hashable that is equal for equal JSON: true is not 1, and 1.0 is not 1."""
    if isinstance(value, dict | list):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except (TypeError, ValueError):
            # Too deep, or a number too long: such a value equals nothing but itself.
            return id(value)
    return (type(value), value)
