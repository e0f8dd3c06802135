"""Compares two objects of a type, merges an applied configuration into one, and removes fields from one.

Results share parts with their arguments.
"""

from collections.abc import Iterator
from operator import is_
from typing import Any, NamedTuple

from picokube.apiserver.apply.fieldset import EMPTY, MEMBER, FieldSet, union, without_subtrees
from picokube.apiserver.apply.merge_schema import (
    DEDUCED,
    LIST,
    MAP,
    SCALAR,
    ListType,
    MapType,
    MergeType,
    with_zero_fields,
    without_null_fields,
)
from picokube.apiserver.apply.typed_paths import item_elements, tolerant_elements


class Comparison(NamedTuple):
    """Paths that went, that changed, and that came."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    def __bool__(self) -> bool:
        return bool(self.removed or self.modified or self.added)

    @property
    def taken(self) -> FieldSet:
        """The fields that the writer of this object owns now."""
        return union(self.modified, self.added)

    def without(self, ignored: FieldSet) -> "Comparison":
        """The same, blind to some fields and all below them."""
        if not ignored:
            return self
        return Comparison(*(without_subtrees(item, ignored) for item in self))


def compare(kind: MergeType, old: dict[str, Any], new: dict[str, Any]) -> Comparison:
    """How the second object differs from the first."""
    removed: FieldSet = {}
    modified: FieldSet = {}
    added: FieldSet = {}
    if old is not new and not _same(kind, old, new):
        _compare_maps(kind, old, new, (removed, modified, added))
    return Comparison(removed, modified, added)


def identical(one: Any, other: Any) -> bool:
    """Equal, with numbers equal by value and true not equal to 1."""
    return bool(one == other) and _same_types(DEDUCED, one, other)


def _same(kind: MergeType, one: Any, other: Any) -> bool:
    return bool(one == other) and (not kind.loose or _same_types(kind, one, other))


def _same_types(kind: MergeType, one: Any, other: Any) -> bool:
    """Whether two equal values are booleans in the same places. Looks only where a type allows several."""
    if one is other:
        return True
    form = type(one)
    if form is dict:
        known = kind.map or DEDUCED.map
        assert known is not None  # noqa: S101 - narrows the type
        fields, rest = known.fields, known.element or DEDUCED
        for name, item in one.items():
            child = fields.get(name) or rest
            if child.loose and not _same_types(child, item, other[name]):
                return False
        return True
    if form is list:
        element = kind.list.element if kind.list is not None else DEDUCED
        return not element.loose or all(
            _same_types(element, item, that) for item, that in zip(one, other, strict=True)
        )
    return (form is bool) is (type(other) is bool)


_Sets = tuple[FieldSet, FieldSet, FieldSet]


def _compare(kind: MergeType, old: Any, new: Any, into: _Sets, element: str) -> None:
    """Both are there, maybe null: note differences at, or below, a path element."""
    if _same(kind, old, new):
        return
    was, now = kind.form(old), kind.form(new)
    for form in (now,) if was == now else (was, now):
        if form == SCALAR:
            into[1][element] = EMPTY
            continue
        if _is_leaf(kind, form, old, new):
            if not _same_leaf(kind, old, new):
                into[1][element] = EMPTY
            continue
        below: _Sets = ({}, {}, {})
        if form == MAP:
            _compare_maps(kind, old, new, below)
        else:
            _compare_lists(kind, old, new, below)
        for found, target in zip(below, into, strict=True):
            if found:
                target[element] = found


def _is_leaf(kind: MergeType, form: str, old: Any, new: Any) -> bool:
    """Atomic, or empty on both sides: then only the whole can differ."""
    shape: type = dict if form == MAP else list
    is_filled = (type(old) is shape and bool(old)) or (type(new) is shape and bool(new))
    if form == MAP:
        known = kind.map
        return known is None or known.atomic or not (is_filled or known.zeros)
    return kind.list is None or kind.list.atomic or not is_filled


def _same_leaf(kind: MergeType, old: Any, new: Any) -> bool:
    """Whether two unequal leaves are the same as structs; of lists, only items that differ are compared."""
    if type(old) is list and type(new) is list and kind.list is not None:
        item = kind.list.element
        return len(old) == len(new) and all(
            one is other or _same(item, one, other) or _same_leaf(item, one, other)
            for one, other in zip(old, new, strict=True)
        )
    return identical(*(without_null_fields(kind, with_zero_fields(kind, entry)) for entry in (old, new)))


def _compare_maps(kind: MergeType, old: Any, new: Any, into: _Sets) -> None:
    known = kind.map
    assert known is not None  # noqa: S101 - narrows the type
    before = old if type(old) is dict else {}
    after = new if type(new) is dict else {}
    if known.zeros:
        before = known.zeros | before if type(old) is dict else before
        after = known.zeros | after if type(new) is dict else after
    fields, other = known.fields, known.element or DEDUCED
    removed, _, added = into
    for name, was in before.items():
        child = fields.get(name) or other
        if name in after:
            now = after[name]
            if was is not now:
                _compare(child, was, now, into, f"f:{name}")
        elif was is not None or not known.is_struct:
            removed[f"f:{name}"] = whole(child, was)
    for name, now in after.items():
        if name not in before and (now is not None or not known.is_struct):
            added[f"f:{name}"] = whole(fields.get(name) or other, now)


def _compare_lists(kind: MergeType, old: Any, new: Any, into: _Sets) -> None:
    items = kind.list
    assert items is not None  # noqa: S101 - narrows the type
    before = _by_element(items, old if type(old) is list else [])
    after = _by_element(items, new if type(new) is list else [])
    removed, modified, added = into
    for element in dict.fromkeys([*before, *after]):
        was, now = before.get(element, []), after.get(element, [])
        if len(was) <= 1 and len(now) <= 1:
            if not was:
                added[element] = whole(items.element, now[0])
            elif not now:
                removed[element] = whole(items.element, was[0])
            else:
                _compare(items.element, was[0], now[0], into, element)
        elif len(was) > 1 and len(now) > 1:
            if not identical(was, now):
                modified[element] = EMPTY
        elif len(was) > 1:
            removed[element] = EMPTY
            if now:
                added[element] = whole(items.element, now[0])
        else:
            added[element] = EMPTY
            if was:
                removed[element] = whole(items.element, was[0])


def _by_element(kind: ListType, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for element, item in zip(item_elements(kind, items), items, strict=True):
        found.setdefault(element, []).append(item)
    return found


def whole(kind: MergeType, value: Any) -> FieldSet:
    """The node of a value that came or went: itself and everything below it."""
    form = kind.form(value)
    if form == MAP and type(value) is dict and kind.map is not None and not kind.map.atomic:
        known = kind.map
        members = known.zeros | value if known.zeros else value
        if not members:
            return EMPTY
        fields, other = known.fields, known.element or DEDUCED
        node: FieldSet = {MEMBER: EMPTY}
        for name, item in members.items():
            shape = type(item)
            if shape is not dict and shape is not list:
                node[f"f:{name}"] = EMPTY
            else:
                node[f"f:{name}"] = whole(fields.get(name) or other, item)
        return node
    if form == LIST and type(value) is list and value and kind.list is not None and not kind.list.atomic:
        node = {MEMBER: EMPTY}
        for element, found in _by_element(kind.list, value).items():
            node[element] = whole(kind.list.element, found[0]) if len(found) == 1 else EMPTY
        return node
    return EMPTY


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
    for element, at in _merged_order(present, wanted):
        if at is not None:
            result.append(live[at])
        elif element in old:
            result.append(merged(kind.element, old[element], new[element]))
        else:
            result.append(new[element])
    unchanged = len(result) == len(live) and all(map(is_, result, live))
    return live if unchanged else result


def _merged_order(present: list[str], wanted: list[str]) -> Iterator[tuple[str, int | None]]:
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
