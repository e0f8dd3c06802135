"""Laying an applied configuration over a live object, and taking fields out of one. Knows types and values; nothing is
ever removed by merging. Results share parts with their arguments.
"""

from collections.abc import Iterator
from operator import is_
from typing import Any

from picokube.apiserver.apply.comparison import identical
from picokube.apiserver.apply.fieldset import MEMBER, FieldSet
from picokube.apiserver.apply.merge_schema import DEDUCED, LIST, MAP, ListType, MapType, MergeType
from picokube.apiserver.apply.typed_paths import item_elements, tolerant_elements


def merged(kind: MergeType, live: Any, config: Any) -> Any:
    """The live value with everything that the configuration mentions; the live value itself if that changes nothing."""
    form = kind.form(config)
    if form == MAP and kind.map is not None and not kind.map.atomic:
        ours = live if type(live) is dict else None
        theirs = config if type(config) is dict else None
        if ours or theirs:
            return _merged_maps(kind.map, ours or {}, theirs or {})
    elif form == LIST and kind.list is not None and not kind.list.atomic:
        before = live if type(live) is list else None
        after = config if type(config) is list else None
        if before or after:
            return _merged_lists(kind.list, before or [], after or [])
    return live if type(live) is type(config) and identical(live, config) else config


def _merged_maps(kind: MapType, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    fields, other = kind.fields, kind.element or DEDUCED
    result = live
    for name, value in config.items():
        now = value
        if name in live:
            was = live[name]
            if type(value) is str and value == was:
                continue
            now = merged(fields.get(name) or other, was, value)
            if now is was:
                continue
        if result is live:
            result = live.copy()
        result[name] = now
    return result


def _merged_lists(kind: ListType, live: list[Any], config: list[Any]) -> list[Any]:
    """Items that only the live list has keep their places; what both have comes in the configuration's order."""
    if not config:
        return live
    wanted, present = item_elements(kind, config), item_elements(kind, live)
    if not live:
        return config
    if wanted == present:
        items = [merged(kind.element, was, now) for was, now in zip(live, config, strict=True)]
        return live if all(map(is_, items, live)) else items
    new = dict(zip(wanted, config, strict=True))
    old: dict[str, Any] = {}
    for element, item in zip(present, live, strict=True):
        old[element] = None if element in old else item
    result = []
    for element, at in _woven(present, wanted):
        if at is not None:
            result.append(live[at])
        elif element in old:
            result.append(merged(kind.element, old[element], new[element]))
        else:
            result.append(new[element])
    unchanged = len(result) == len(live) and all(map(is_, result, live))
    return live if unchanged else result


def _woven(present: list[str], wanted: list[str]) -> Iterator[tuple[str, int | None]]:
    """The order of a merged list: elements, with their place in the live list if only that has them."""
    known, mine = set(present), set(wanted)
    shared = [element for element in wanted if element in known]
    placed: set[str] = set()
    at = taking = passed = 0
    while at < len(present) or taking < len(wanted):
        if at < len(present):
            element = present[at]
            if element not in mine:
                if taking >= len(wanted) or element != wanted[taking]:
                    yield element, at
                    at += 1
                    continue
            elif taking < len(wanted) and element == wanted[taking]:
                at += 1
            elif taking < len(wanted) and passed < len(shared) and shared[passed] != element:
                at += 1
                continue
            elif element in placed:
                at += 1
        if taking < len(wanted):
            element = wanted[taking]
            placed.add(element)
            taking += 1
            if passed < len(shared) and shared[passed] == element:
                passed += 1
            yield element, None


def without_items(kind: MergeType, value: Any, gone: FieldSet) -> Any:
    """The value without the members and items of a set. What loses all it had becomes null."""
    form = kind.form(value)
    if form == MAP:
        known = kind.map
        if type(value) is not dict or not value or known is None or known.atomic:
            return None
        return _map_without(kind, value, gone) or None
    if form == LIST:
        if type(value) is not list or not value or kind.list is None or kind.list.atomic:
            return None
        return _list_without(kind.list, value, gone) or None
    return value


def _map_without(kind: MergeType, value: dict[str, Any], gone: FieldSet) -> dict[str, Any]:
    assert kind.map is not None  # noqa: S101 - narrows the type
    fields, other = kind.map.fields, kind.map.element or DEDUCED
    kept: dict[str, Any] = {}
    for name, item in value.items():
        below = gone.get(f"f:{name}")
        if below is None:
            kept[name] = item
        elif below and MEMBER not in below:
            kept[name] = without_items(fields.get(name) or other, item, below)
    return kept


def _list_without(kind: ListType, value: list[Any], gone: FieldSet) -> list[Any]:
    kept = []
    for element, item in zip(tolerant_elements(kind, value), value, strict=True):
        below = gone.get(element)
        if below is None:
            kept.append(item)
        elif below and MEMBER not in below:
            kept.append(without_items(kind.element, item, below))
    return kept
