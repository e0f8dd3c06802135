"""Checks an applied configuration against its type, with the error texts of Kubernetes."""

from typing import Any, Final

from picokube.apiserver.apply.go_text import plain, syntax, type_name
from picokube.apiserver.apply.merge_schema import (
    BOOLEAN,
    LIST,
    MAP,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    MergeType,
)
from picokube.apiserver.apply.path_elements import shown
from picokube.apiserver.apply.typed_paths import UnkeyedItem, item_elements, repeated

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
    """The same answer without words, which is what nearly all values get."""
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
