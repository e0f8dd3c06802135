"""The field paths of an object under its type, and whether the object fits that type."""

from collections import Counter
from typing import Any, Final

import orjson

from picokube.apiserver.apply.fieldset import (
    EMPTY,
    MEMBER,
    FieldSet,
    json_text,
    key_element,
    shown,
    text_key_element,
    text_value_element,
    value_element,
)
from picokube.apiserver.apply.merge_schema import (
    BOOLEAN,
    DEDUCED,
    LIST,
    MAP,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    MergeType,
)
from picokube.apiserver.protocol.go_text import plain, syntax, type_name

UNKEYED = "!:"
"""Placeholder for the element of an item that has none. Never stored."""

_REMEMBERED = 4096


class UnkeyedItem(Exception):
    """A list item that has no path element: a key is missing, or an item of a set is no scalar."""

    def __init__(self, index: int, why: str) -> None:
        super().__init__(f"element {index}: {why}")
        self.why = why


def item_elements(kind: ListType, items: list[Any]) -> list[str]:
    """The path element of every item of a set or keyed list."""
    keys = kind.keys
    if not keys:
        return [_set_element(index, item) for index, item in enumerate(items)]
    if len(keys) == 1:
        key = keys[0]
        return [
            text_key_element(key, item[key])
            if type(item) is dict and type(item.get(key)) is str
            else _keyed_element(kind, index, item)
            for index, item in enumerate(items)
        ]
    return [_keyed_element(kind, index, item) for index, item in enumerate(items)]


def tolerant_elements(kind: ListType, items: list[Any]) -> list[str]:
    """The same for a value that is being taken apart: an item that has lost its keys has no element of its own."""
    try:
        return item_elements(kind, items)
    except UnkeyedItem:
        return [_element_or_none(kind, item) for item in items]


def _element_or_none(kind: ListType, item: Any) -> str:
    try:
        return item_elements(kind, [item])[0]
    except UnkeyedItem:
        return UNKEYED


def _set_element(index: int, item: Any) -> str:
    if type(item) is str:
        return text_value_element(item)
    match item:
        case None:
            raise UnkeyedItem(index, "associative list without keys has an element that's an explicit null")
        case dict():
            raise UnkeyedItem(index, "associative list without keys has an element that's a map type")
        case list():
            raise UnkeyedItem(index, "not supported: associative list with lists as elements")
    return value_element(item)


def _keyed_element(kind: ListType, index: int, item: Any) -> str:
    if item is None:
        raise UnkeyedItem(index, "associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise UnkeyedItem(index, "associative list with keys may not have non-map elements")
    element = kind.element.map
    names, values = [], []
    for key in kind.keys:
        if key in item:
            value = item[key]
        elif element is None:
            why = f"couldn't find default value for {key}: associative list may not have non-map types"
            raise UnkeyedItem(index, why)
        elif (value := element.defaults.get(key)) is None:
            continue
        names.append(key)
        values.append(value)
    if not names:
        key_names = " ".join(json_text(key) for key in kind.keys)
        why = (
            f"associative list with keys has an element that omits all key fields [{key_names}] "
            "(and doesn't have default values for any key fields)"
        )
        raise UnkeyedItem(index, why)
    return key_element(tuple(names), values)


def repeated(elements: list[str]) -> frozenset[str]:
    """Elements that more than one item has."""
    if len(set(elements)) == len(elements):
        return frozenset()
    return frozenset(item for item, count in Counter(elements).items() if count > 1)


def field_set(kind: MergeType, value: Any) -> FieldSet:
    """Every leaf that a value mentions; and items, unknown members and empty objects, which count themselves."""
    return _node(kind, value, member=False) or EMPTY


def _node(kind: MergeType, value: Any, *, member: bool) -> FieldSet | None:
    """A node of the set; None if nothing here is a member."""
    form = type(value)
    if form is dict and kind.map is not None:
        return EMPTY if kind.map.atomic else _object(kind.map, value, member)
    if form is list and kind.list is not None:
        return EMPTY if kind.list.atomic else _items(kind.list, value, member)
    if member or value is None:
        return EMPTY
    if form is not dict and form is not list and kind.scalar is not None:
        return EMPTY
    if kind.map is not None:
        return EMPTY if kind.map.atomic else None
    return EMPTY if kind.scalar is not None or (kind.list is not None and kind.list.atomic) else None


def _object(kind: MapType, value: dict[str, Any], member: bool) -> FieldSet | None:
    fields = kind.fields
    node: FieldSet = {MEMBER: EMPTY} if member else {}
    for name, item in value.items():
        known = fields.get(name)
        form = type(item)
        if form is not dict and form is not list and (known is None or known.scalar is not None):
            node[f"f:{name}"] = EMPTY
        elif known is None:
            node[f"f:{name}"] = _node(kind.element or DEDUCED, item, member=True)
        else:
            below = _node(known, item, member=form is dict and not item)
            if below is not None:
                node[f"f:{name}"] = below
    if len(node) > member:
        return node
    return EMPTY if member else None


def _items(kind: ListType, items: list[Any], member: bool) -> FieldSet | None:
    if not items:
        return EMPTY if member else None
    node: FieldSet = {MEMBER: EMPTY} if member else {}
    elements = tolerant_elements(kind, items)
    twice = repeated(elements)
    known = kind.element.map
    if known is None or known.atomic:
        return node | dict.fromkeys(elements, EMPTY)
    for element, item in zip(elements, items, strict=True):
        if element in twice:
            node[element] = EMPTY
        elif type(item) is dict:
            node[element] = _object(known, item, True)
        else:
            node[element] = EMPTY
    return node


def with_named_fields(kind: MergeType | None, fields: FieldSet) -> FieldSet:
    """The set with every known field that has members below it as a member, too."""
    if kind is None:
        return fields
    found: FieldSet = {}
    for name, below in fields.items():
        if not below:
            found[name] = below
            continue
        child, named = _child(kind, name)
        node = with_named_fields(child, below)
        found[name] = {MEMBER: EMPTY, **node} if named and MEMBER not in node else node
    return found


def _child(kind: MergeType, name: str) -> tuple[MergeType | None, bool]:
    """The type of what an element points to, and whether it is a known field."""
    if name[0] == "f" and kind.map is not None:
        known = kind.map.fields.get(name[2:])
        return (known, True) if known is not None else (kind.map.element, False)
    if name[0] == "k" and kind.list is not None:
        return kind.list.element, False
    return None, False


def fitting(kind: MergeType, fields: FieldSet) -> FieldSet:
    """The set under the current type of an object: fields that have become atomic are owned as a whole.

    Sets that fitted are remembered; most writes meet the same ones again.
    """
    mark = hash(orjson.dumps(fields))
    if mark in kind.fits:
        return fields
    fitted = _fitting(kind, fields)
    if fitted is fields:
        if len(kind.fits) >= _REMEMBERED:
            kind.fits.clear()
        kind.fits.add(mark)
    return fitted


def _fitting(kind: MergeType, fields: FieldSet) -> FieldSet:
    changed: FieldSet = {}
    for name, below in fields.items():
        if not below or name == MEMBER:
            continue
        child = _type_at(kind, name)
        if child is None:
            continue
        fits = _fitting_node(child, below)
        if fits is not below:
            changed[name] = fits
    return fields | changed if changed else fields


def _fitting_node(kind: MergeType, below: FieldSet) -> FieldSet:
    if kind.map is not None:
        if not kind.map.fields and kind.map.element is not None and kind.map.element.scalar == "untyped":
            return below
        return EMPTY if kind.map.atomic else _fitting(kind, below)
    if kind.scalar is not None or kind.list is None:
        return below
    return EMPTY if kind.list.atomic else _fitting(kind, below)


def _type_at(kind: MergeType, name: str) -> MergeType | None:
    if kind.map is not None:
        return (kind.map.fields.get(name[2:]) if name[0] == "f" else None) or kind.map.element
    return kind.list.element if kind.list is not None else None


Problem = tuple[str, str]
"""Where, and what."""

_SHAPES: Final[dict[str, frozenset[type]]] = {
    NUMERIC: frozenset({int, float}),
    STRING: frozenset({str}),
    BOOLEAN: frozenset({bool}),
    UNTYPED: frozenset({bool, int, float, str}),
}


def type_problems(kind: MergeType, value: Any) -> str:
    """What does not fit, as one text; empty if all does."""
    if _fits(kind, value):
        return ""
    found = [f"{path}: {why}" if path else why for path, why in _check(kind, value)]
    if len(found) == 1:
        return found[0]
    return "\n".join(["errors:", *(f"  {item}" for item in found)]) if found else ""


def _fits(kind: MergeType, value: Any) -> bool:
    """Whether a value fits, without messages. Nearly all values fit."""
    form = type(value)
    if form is dict:
        return kind.map is not None and _map_fits(kind.map, value)
    if form is list:
        return kind.list is not None and _list_fits(kind.list, value)
    return value is None or (kind.scalar is not None and form in _SHAPES[kind.scalar])


def _map_fits(kind: MapType, value: dict[str, Any]) -> bool:
    fields, element = kind.fields, kind.element
    for name, item in value.items():
        child = fields.get(name) or element
        if child is None or not _fits(child, item):
            return False
    return True


def _list_fits(kind: ListType, value: list[Any]) -> bool:
    if not kind.atomic:
        try:
            elements = item_elements(kind, value)
        except UnkeyedItem:
            return False
        if repeated(elements):
            return False
    return all(_fits(kind.element, item) for item in value)


def _check(kind: MergeType, value: Any) -> list[Problem]:
    form = kind.form(value)
    if value is None:
        return []
    if form == MAP:
        return _check_map(kind, value)
    if form == LIST:
        return _check_list(kind.list, value) if kind.list is not None else []
    why = _scalar_problem(kind.scalar, value)
    return [("", why)] if why else []


def _scalar_problem(scalar: str | None, value: Any) -> str:
    shape = type(value)
    if scalar == NUMERIC:
        if shape is not int and shape is not float:
            return f"expected numeric (int or float), got {type_name(value)}"
    elif scalar == STRING:
        if shape is not str:
            return f"expected string, got &value.valueUnstructured{{Value:{syntax(value)}}}"
    elif scalar == BOOLEAN:
        if shape is not bool:
            return f"expected boolean, got &{{{plain(value)}}}"
    elif shape is dict or shape is list:
        return f"expected any scalar, got &{{{plain(value)}}}"
    return ""


def _check_map(kind: MergeType, value: Any) -> list[Problem]:
    known = kind.map
    if type(value) is not dict or known is None:
        return [("", f"expected map, got &{{{plain(value)}}}")]
    problems: list[Problem] = []
    fields, element = known.fields, known.element
    for name, item in value.items():
        child = fields.get(name) or element
        if child is None:
            problems.append((f".{name}", "field not declared in schema"))
            break
        problems += [(f".{name}{path}", why) for path, why in _check(child, item)]
    return problems


def _check_list(kind: ListType, value: Any) -> list[Problem]:
    if type(value) is not list:
        return [("", f"expected list, got &{{{plain(value)}}}")]
    problems: list[Problem] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        if kind.atomic:
            where = f"[{index}]"
        else:
            try:
                element = item_elements(kind, [item])[0]
            except UnkeyedItem as error:
                return [*problems, ("", f"element {index}: {error.why}")]
            where = shown(element)
            if element in seen:
                problems.append(("", f"duplicate entries for key {where}"))
            seen.add(element)
        problems += [(f"{where}{path}", why) for path, why in _check(kind.element, item)]
    return problems
