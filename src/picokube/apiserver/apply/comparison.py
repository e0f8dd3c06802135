"""What changed between two objects of a type, as three sets of paths. Knows types and values; knows no managers."""

from typing import Any, NamedTuple

from picokube.apiserver.apply.fieldset import EMPTY, MEMBER, FieldSet, union, without_subtrees
from picokube.apiserver.apply.merge_schema import DEDUCED, LIST, MAP, SCALAR, ListType, MergeType
from picokube.apiserver.apply.structs import filled, without_null_fields
from picokube.apiserver.apply.typed_paths import item_elements


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
    filled = (type(old) is shape and bool(old)) or (type(new) is shape and bool(new))
    if form == MAP:
        known = kind.map
        return known is None or known.atomic or not (filled or known.zeros)
    return kind.list is None or kind.list.atomic or not filled


def _same_leaf(kind: MergeType, old: Any, new: Any) -> bool:
    """Whether two leaves that are not equal still say the same, as structs: of lists, what differs is looked at."""
    if type(old) is list and type(new) is list and kind.list is not None:
        item = kind.list.element
        return len(old) == len(new) and all(
            one is other or _same(item, one, other) or _same_leaf(item, one, other)
            for one, other in zip(old, new, strict=True)
        )
    return identical(*(without_null_fields(kind, filled(kind, entry)) for entry in (old, new)))


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
