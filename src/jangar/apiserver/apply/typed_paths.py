"""The paths of an object under its type: which fields it mentions, and which path element each list item has.

Knows types and values; knows nothing of managers.
"""

from typing import Any

from jangar.apiserver.apply.fieldset import EMPTY, MEMBER, FieldSet
from jangar.apiserver.apply.merge_schema import DEDUCED, ListType, MergeType
from jangar.apiserver.apply.path_elements import json_text, key_element, value_element


UNKEYED = "!:"
"""What stands for the element of an item that has none. Never stored."""


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
        prefix = f'k:{{"{key}":'
        return [
            f"{prefix}{json_text(item[key])}}}"
            if type(item) is dict and key in item
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
        return f"v:{json_text(item)}"
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
        quoted = " ".join(json_text(key) for key in kind.keys)
        why = (
            f"associative list with keys has an element that omits all key fields [{quoted}] "
            "(and doesn't have default values for any key fields)"
        )
        raise UnkeyedItem(index, why)
    return key_element(tuple(names), values)


def repeated(elements: list[str]) -> set[str]:
    """Elements that more than one item has."""
    if len(set(elements)) == len(elements):
        return set()
    return {each for each in elements if elements.count(each) > 1}


def field_set(kind: MergeType, value: Any) -> FieldSet:
    """Every leaf that a value mentions; and items, unknown members and empty objects, which count themselves."""
    return _below(kind, value, member=False) or EMPTY


def _below(kind: MergeType, value: Any, *, member: bool) -> FieldSet | None:
    """A node of the set; None if nothing here is a member."""
    form = type(value)
    if form is dict:
        if kind.map is not None:
            return EMPTY if kind.map.atomic else _object(kind, value, member)
    elif form is list:
        if kind.list is not None:
            return EMPTY if kind.list.atomic else _items(kind.list, value, member)
    elif value is None or kind.scalar is not None:
        return EMPTY
    if kind.map is not None:
        return EMPTY if member or kind.map.atomic else None
    return (
        EMPTY if member or kind.scalar is not None or (kind.list is not None and kind.list.atomic) else None
    )


def _object(kind: MergeType, value: dict[str, Any], member: bool) -> FieldSet | None:
    assert kind.map is not None  # noqa: S101 - narrows the type
    fields, element = kind.map.fields, kind.map.element or DEDUCED
    node: FieldSet = {MEMBER: EMPTY} if member else {}
    for name, each in value.items():
        known = fields.get(name)
        form = type(each)
        if form is not dict and form is not list and (known is None or known.scalar is not None):
            node[f"f:{name}"] = EMPTY
            continue
        if known is None:
            below = _below(element, each, member=True)
        else:
            below = _below(known, each, member=form is dict and not each)
        if below is not None:
            node[f"f:{name}"] = below
    return _settled(node, member)


def _items(kind: ListType, items: list[Any], member: bool) -> FieldSet | None:
    node: FieldSet = {MEMBER: EMPTY} if member else {}
    elements = tolerant_elements(kind, items)
    twice = repeated(elements)
    for element, item in zip(elements, items, strict=True):
        node[element] = EMPTY if element in twice else _below(kind.element, item, member=True)
    return _settled(node, member)


def _settled(node: FieldSet, member: bool) -> FieldSet | None:
    if len(node) > member:
        return node
    return EMPTY if member else None


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
    """The set as the type sees it now: what has become atomic is owned as a whole. The same object if it fits."""
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
        return EMPTY if kind.map.atomic else fitting(kind, below)
    if kind.scalar is not None or kind.list is None:
        return below
    return EMPTY if kind.list.atomic else fitting(kind, below)


def _type_at(kind: MergeType, name: str) -> MergeType | None:
    if kind.map is not None:
        return (kind.map.fields.get(name[2:]) if name[0] == "f" else None) or kind.map.element
    return kind.list.element if kind.list is not None else None
