"""The order of lists that a strategic merge patch has merged: the patch's items in the order it states, the others in
the order they had, woven by the old order where that says anything. Knows lists only.
"""

from typing import Any

from picokube.apiserver.apply.go_text import plain, type_name

_INTERNAL = 500
_SMALL = 20
"""Up to here Go sorts by insertion, which shows when the order it is given has gaps."""


class StrategicPatchError(Exception):
    """The patch makes no sense for this kind. `code` is the answer's."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


def element_type(*lists: list[Any]) -> type:
    """The one type that all items have."""
    found: type | None = None
    for entry in lists:
        for item in entry:
            if found is None:
                found = type(item)
                if found is list:
                    raise StrategicPatchError("lists of lists are not supported", 422)
            elif type(item) is not found:
                raise StrategicPatchError(
                    f"list element types are not identical: {plain(list(lists))}", _INTERNAL
                )
    if found is None:
        raise StrategicPatchError("no elements in any of the given slices", _INTERNAL)
    return found


def split_by_presence(items: list[Any], wanted: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """The items that another list has, too, and those that only this one has."""
    if key:
        _check_keyed(items, key)
    present = _places(wanted, key)
    mine = [item for item in items if _mark(item, key) in present]
    return mine, [item for item in items if _mark(item, key) not in present]


def ordered(
    mine: list[Any], others: list[Any], wanted: list[Any], before: list[Any], key: str, *, is_map: bool
) -> list[Any]:
    """One list of the patch's items and the others."""
    marking = key if is_map else ""
    if is_map:
        for item in (mine, wanted, others, before):
            _check_keyed(item, key)
    places = _places(before, marking)
    return _woven(
        _sorted(mine, _places(wanted, marking), marking), _sorted(others, places, marking), places, marking
    )


def _woven(mine: list[Any], others: list[Any], places: dict[Any, int], key: str) -> list[Any]:
    result: list[Any] = []
    taking = 0
    for item in mine:
        place = places.get(_mark(item, key))
        while place is not None and taking < len(others):
            other = places.get(_mark(others[taking], key))
            if other is None or other >= place:
                break
            result.append(others[taking])
            taking += 1
        result.append(item)
    return result + others[taking:]


def _sorted(items: list[Any], places: dict[Any, int], key: str) -> list[Any]:
    deleted = [entry for entry in items if isinstance(entry, dict) and entry.get("$patch") == "delete"]
    items = [entry for entry in items if not (isinstance(entry, dict) and entry.get("$patch") == "delete")]
    found = [places.get(_mark(item, key)) for item in items]
    if None not in found or len(items) > _SMALL:
        items.sort(key=lambda item: places.get(_mark(item, key), -1))
        return items + deleted
    for start in range(1, len(items)):
        at = start
        while at > 0:
            one, other = found[at], found[at - 1]
            if one is not None and other is not None and one >= other:
                break
            items[at - 1], items[at] = items[at], items[at - 1]
            found[at - 1], found[at] = one, other
            at -= 1
    return items + deleted


def check_order(sent: list[Any], wanted: list[Any], key: str) -> None:
    """The items sent must be in the order stated."""
    if not sent or not wanted:
        return
    if key:
        for item in sent:
            if not isinstance(item, dict):
                raise _bad_type(item)
    items = [entry for entry in sent if not (key and entry.get("$patch") == "delete")]
    at = turn = 0
    while at < len(items) and turn < len(wanted):
        if isinstance(items[at], dict) and "$patch" in items[at]:
            at += 1
            continue
        if key:
            _check_keyed([items[at], wanted[turn]], key)
        at += _mark(items[at], key) == _mark(wanted[turn], key)
        turn += 1
    if at < len(items):
        raise StrategicPatchError(
            f"The order in patch list:\n{plain(sent)}\n doesn't match $setElementOrder list:\n{plain(wanted)}\n",
            _INTERNAL,
        )


def _places(items: list[Any], key: str) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for place, item in enumerate(items):
        found.setdefault(_mark(item, key), place)
    return found


def _mark(item: Any, key: str) -> Any:
    """What tells items apart: the value of the key, or the scalar itself."""
    if key:
        item = item.get(key) if isinstance(item, dict) else None
    if isinstance(item, dict | list):
        return plain(item)
    return (type(item), item)


def _check_keyed(items: list[Any], key: str) -> None:
    for item in items:
        if not isinstance(item, dict):
            raise _bad_type(item)
        if key not in item:
            raise StrategicPatchError(
                f"map: {plain(item)} does not contain declared merge key: {key}", _INTERNAL
            )


def _bad_type(item: Any) -> StrategicPatchError:
    return StrategicPatchError(
        f"expected a map[string]interface {{}}, but received a {type_name(item)}", _INTERNAL
    )
