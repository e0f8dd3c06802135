"""Sets of field paths, kept the way FieldsV1 writes them: a tree of dicts whose keys are path elements.

`{}` is a member with nothing below it; `.` marks a member that has members below it; a node with neither is only on the
way. Sets are values: nothing here changes its arguments, and results share parts with them. Knows no schema.
"""

from collections.abc import Iterator
from typing import Any

from picokube.apiserver.apply.path_elements import MalformedElement, canonical, order, shown

FieldSet = dict[str, Any]
"""The tree. The root is never a member itself."""

EMPTY: FieldSet = {}
MEMBER = "."


class MalformedFields(Exception):
    """FieldsV1 that cannot be read."""


def parsed(fields: Any) -> FieldSet:
    """A set from FieldsV1 that anyone may have written."""
    try:
        return _node(fields)[0]
    except MalformedElement as error:
        raise MalformedFields(str(error)) from error


def _node(fields: Any) -> tuple[FieldSet, bool]:
    """What is below a node, and whether the node itself is a member."""
    if not isinstance(fields, dict):
        raise MalformedFields(f"fieldsV1 must be an object, not {fields!r}")
    found: FieldSet = {}
    member = False
    for name, below in fields.items():
        if name == MEMBER:
            member = True
            continue
        element = canonical(name)
        if element is None:
            continue
        children, is_member = _node(below)
        if children and is_member:
            children = {MEMBER: {}, **children}
        found[element] = union(found[element], children) if element in found else children
    return found, member or not found


def in_order(fields: FieldSet) -> FieldSet:
    """The same set, every node's elements in Kubernetes' order."""
    if not fields:
        return fields
    names = sorted(fields)
    if names[-1][0] != "f":
        names.sort(key=order)
    return {name: in_order(below) if (below := fields[name]) else EMPTY for name in names}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Paths in either."""
    if not one or not other or one is other:
        return one or other
    merged = one.copy()
    for name, theirs in other.items():
        ours = merged.get(name)
        merged[name] = theirs if ours is None else _joined(ours, theirs)
    return merged


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    """Both of two nodes of the same path, either of which may be a bare member."""
    if not one:
        return other if not other or MEMBER in other else {MEMBER: {}, **other}
    if not other:
        return one if MEMBER in one else {MEMBER: {}, **one}
    return union(one, other)


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Paths in the first and not in the second; a path says nothing of those below it. The first itself if it stays."""
    if not one or not other:
        return one
    changed: FieldSet = {}
    for name, theirs in other.items():
        ours = one.get(name)
        if ours is None:
            continue
        left = None if name == MEMBER else _left(ours, theirs)
        if left is not ours:
            changed[name] = left
    if not changed:
        return one
    return {name: left for name, ours in one.items() if (left := changed.get(name, ours)) is not None}


def _left(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    """A node without what another has; None if nothing stays."""
    if not ours:
        return None if not theirs or MEMBER in theirs else ours
    if not theirs:
        if MEMBER not in ours:
            return ours
        return {name: below for name, below in ours.items() if name != MEMBER}
    left = difference(ours, theirs)
    if left is ours:
        return ours
    if not left:
        return None
    return EMPTY if len(left) == 1 and MEMBER in left else left


def without_subtrees(one: FieldSet, other: FieldSet) -> FieldSet:
    """Paths in the first that are neither in the second nor below a path in it."""
    if not one or not other:
        return one
    kept: FieldSet = {}
    for name, ours in one.items():
        theirs = other.get(name)
        if theirs is None:
            kept[name] = ours
        elif theirs and MEMBER not in theirs:
            left = without_subtrees(ours, theirs) if ours else ours
            if left or not ours:
                kept[name] = EMPTY if len(left) == 1 and MEMBER in left else left
    return kept


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Paths in both."""
    if one is other:
        return one
    both: FieldSet = {}
    for name, ours in one.items():
        theirs = other.get(name)
        if theirs is None:
            continue
        if name == MEMBER:
            both[name] = EMPTY
        elif (common := _common(ours, theirs)) is not None:
            both[name] = common
    return both


def _common(ours: FieldSet, theirs: FieldSet) -> FieldSet | None:
    if not ours:
        return EMPTY if not theirs or MEMBER in theirs else None
    if not theirs:
        return EMPTY if MEMBER in ours else None
    common = intersection(ours, theirs)
    if not common:
        return None
    return EMPTY if len(common) == 1 and MEMBER in common else common


def contains(one: FieldSet, other: FieldSet) -> bool:
    """Whether every path of the second is in the first."""
    if one is other:
        return True
    for name, theirs in other.items():
        ours = one.get(name)
        if ours is None:
            return False
        if name == MEMBER:
            continue
        if not theirs:
            if ours and MEMBER not in ours:
                return False
        elif not ours or not contains(ours, theirs):
            return False
    return True


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Every path as messages show it: a node's members first, then what is below them."""
    names = sorted((name for name in fields if name != MEMBER), key=order)
    for name in names:
        if not fields[name] or MEMBER in fields[name]:
            yield prefix + shown(name)
    for name in names:
        if fields[name]:
            yield from paths(fields[name], prefix + shown(name))
