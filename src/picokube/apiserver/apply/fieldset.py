"""Sets of field paths as FieldsV1 has them: trees of dicts whose keys are path elements.

Elements are `f:name`, `k:{"name":"x"}`, `v:"x"` and `i:0`.

`{}` is a member with nothing below it; `.` marks a member that has members below it; a node with neither only leads to
others. Sets are values: nothing here changes its arguments, and results share parts with them. Knows no schema.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson

from picokube.apiserver.protocol.go_text import number
from picokube.schema.go_text import go_quote

_HTML = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_NUMBER, _TEXT, _BOOLEAN, _LIST, _MAP, _NULL = range(6)
_FIELD, _KEY, _VALUE, _INDEX = range(4)


class MalformedElement(Exception):
    """A text that is no path element."""


@lru_cache(maxsize=8192)
def text_key_element(name: str, value: str) -> str:
    """The element of an item of a list keyed by one string: nearly all."""
    return f"k:{{{json_text(name)}:{json_text(value)}}}"


@lru_cache(maxsize=8192)
def text_value_element(value: str) -> str:
    """The element of a string in a set."""
    return f"v:{json_text(value)}"


def key_element(names: tuple[str, ...], values: list[Any]) -> str:
    """The element of an item of a keyed list. Names are in order."""
    parts = [f"{_string(name)}:{_scalar(value)}" for name, value in zip(names, values, strict=True)]
    return f"k:{{{','.join(parts)}}}"


def _scalar(value: Any) -> str:
    if type(value) is str:
        return _string(value)
    return str(value) if type(value) is int else json_text(value)


@lru_cache(maxsize=8192)
def _string(value: str) -> str:
    return json_text(value)


def value_element(value: Any) -> str:
    """The element of an item of a set."""
    return f"v:{json_text(value)}"


def json_text(value: Any) -> str:
    """JSON as Go writes it: whole floats without a point, and no bare `<`, `>` or `&`."""
    if type(value) is float:
        return number(value)
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if "&" in text or "<" in text or ">" in text or "\u2028" in text or "\u2029" in text:
        for plain, escaped in _HTML.items():
            text = text.replace(plain, escaped)
    return text


@lru_cache(maxsize=4096)
def canonical(element: str) -> str | None:
    """The element in canonical spelling; None if its kind is unknown."""
    kind, text = element[:2], element[2:]
    if len(kind) < 2 or kind[1] != ":":  # noqa: PLR2004 - a letter and a colon
        raise MalformedElement(f"missing colon: {element}")
    try:
        match kind:
            case "f:":
                return element
            case "v:":
                return value_element(orjson.loads(text))
            case "k:":
                fields = sorted(orjson.loads(text).items())
                return key_element(tuple(name for name, _ in fields), [value for _, value in fields])
            case "i:":
                return f"i:{int(text)}"
            case _:
                return None
    except (ValueError, AttributeError) as error:
        raise MalformedElement(f"parsing key as path element: {element}") from error


@lru_cache(maxsize=4096)
def shown(element: str) -> str:
    """The element as part of a path in a message: `.name`, `[name="x"]`, `[="x"]`, `[0]`."""
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return f".{text}"
        case "k":
            fields = orjson.loads(text).items()
            return f"[{','.join(f'{name}={shown_value(value)}' for name, value in fields)}]"
        case "v":
            return f"[={shown_value(orjson.loads(text))}]"
        case _:
            return f"[{text}]"


def shown_value(value: Any) -> str:
    """A value inside a path."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return go_quote(value)
        case list():
            return f"[{','.join(map(shown_value, value))}]"
        case dict():
            return "".join(f"{name}={shown_value(item)}" for name, item in value.items())
        case float():
            return number(value)
        case _:
            return str(value)


@lru_cache(maxsize=4096)
def order(element: str) -> tuple[Any, ...]:
    """A sort key: fields, then keys, then values, then indexes."""
    kind, text = element[0], element[2:]
    match kind:
        case "f":
            return (_FIELD, text)
        case "k":
            return (_KEY, tuple((name, _value_order(value)) for name, value in orjson.loads(text).items()))
        case "v":
            return (_VALUE, _value_order(orjson.loads(text)))
        case "i":
            return (_INDEX, int(text))
        case _:
            return (-1,)


def _value_order(value: Any) -> tuple[Any, ...]:
    match value:
        case bool():
            return (_BOOLEAN, value)
        case int() | float():
            return (_NUMBER, value)
        case str():
            return (_TEXT, value)
        case list():
            return (_LIST, tuple(map(_value_order, value)))
        case dict():
            return (_MAP, tuple((name, _value_order(item)) for name, item in sorted(value.items())))
        case _:
            return (_NULL,)


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
    """Paths in the first and not in the second; paths below a path count separately."""
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
