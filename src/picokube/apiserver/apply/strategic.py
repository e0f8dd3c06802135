"""Strategic merge patch: a merge patch in which lists of built-in kinds merge by key, and which may carry directives.

`$patch: replace|delete|merge` in a map or list item, `$retainKeys`, `$deleteFromPrimitiveList/x`, `$setElementOrder/x`.
Knows values and the two patch extensions of a schema.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from picokube.apiserver.apply.json_patch import without_nulls
from picokube.apiserver.protocol.go_text import plain, type_name
from picokube.apiserver.protocol.messages import JsonObject

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
    mine = [item for item in items if _identity(item, key) in present]
    return mine, [item for item in items if _identity(item, key) not in present]


def ordered(
    mine: list[Any], others: list[Any], wanted: list[Any], before: list[Any], key: str, *, is_map: bool
) -> list[Any]:
    """One list of the patch's items and the others."""
    marking = key if is_map else ""
    if is_map:
        for item in (mine, wanted, others, before):
            _check_keyed(item, key)
    places = _places(before, marking)
    return _interleaved(
        _sorted(mine, _places(wanted, marking), marking), _sorted(others, places, marking), places, marking
    )


def _interleaved(mine: list[Any], others: list[Any], places: dict[Any, int], key: str) -> list[Any]:
    result: list[Any] = []
    taking = 0
    for item in mine:
        place = places.get(_identity(item, key))
        while place is not None and taking < len(others):
            other = places.get(_identity(others[taking], key))
            if other is None or other >= place:
                break
            result.append(others[taking])
            taking += 1
        result.append(item)
    return result + others[taking:]


def _sorted(items: list[Any], places: dict[Any, int], key: str) -> list[Any]:
    deleted = [entry for entry in items if isinstance(entry, dict) and entry.get("$patch") == "delete"]
    items = [entry for entry in items if not (isinstance(entry, dict) and entry.get("$patch") == "delete")]
    found = [places.get(_identity(item, key)) for item in items]
    if None not in found or len(items) > _SMALL:
        items.sort(key=lambda item: places.get(_identity(item, key), -1))
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
        at += _identity(items[at], key) == _identity(wanted[turn], key)
        turn += 1
    if at < len(items):
        raise StrategicPatchError(
            f"The order in patch list:\n{plain(sent)}\n doesn't match $setElementOrder list:\n{plain(wanted)}\n",
            _INTERNAL,
        )


def _places(items: list[Any], key: str) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for place, item in enumerate(items):
        found.setdefault(_identity(item, key), place)
    return found


def _identity(item: Any, key: str) -> Any:
    """The identity of an item: the value of its key, or the scalar itself."""
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


__all__ = ["StrategicPatchError", "strategic_merge"]

DIRECTIVE, RETAIN_KEYS = "$patch", "$retainKeys"
DELETE_FROM, SET_ORDER = "$deleteFromPrimitiveList", "$setElementOrder"
MERGE, REPLACE, DELETE = "merge", "replace", "delete"


_NOT_IN_PATCH: Any = object()

Schema = Mapping[str, Any]


def strategic_merge(target: Any, patch: Any, schema: Schema) -> Any:
    """The target after a strategic merge patch. Neither is changed; the result shares parts with the target only."""
    if not isinstance(target, dict) or not isinstance(patch, dict):
        raise StrategicPatchError("invalid JSON document")
    return _merged_map(target, orjson.loads(orjson.dumps(patch)), schema)


def _merged_map(original: JsonObject, patch: JsonObject, schema: Schema) -> JsonObject:
    if DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(original, patch)
    for key in [key for key in patch if key.startswith(SET_ORDER)]:
        _merge_ordered(result, patch, key, schema)
    for key, value in patch.items():
        deleting = key.startswith(DELETE_FROM)
        name = _list_name(key, "invalid patch format of primitive list") if deleting else key
        if value is None:
            result.pop(name, None)
        elif name in result and type(result[name]) is type(value):
            _merge_member(result, name, value, schema, deleting=deleting)
        elif not deleting:
            _set(result, name, value)
    return result


def _directed(patch: JsonObject) -> JsonObject:
    directive = patch[DIRECTIVE]
    if directive == REPLACE:
        return {name: item for name, item in patch.items() if name != DIRECTIVE}
    if directive == DELETE:
        return {}
    raise StrategicPatchError(f"unknown patch type: {plain(directive)} in map: {plain(patch)}", _INTERNAL)


def _retained(original: JsonObject, patch: JsonObject) -> JsonObject:
    """A copy of the original with only the members that the patch retains."""
    keys = patch.pop(RETAIN_KEYS, _NOT_IN_PATCH)
    if keys is _NOT_IN_PATCH:
        return original.copy()
    problem = StrategicPatchError("invalid patch format of retainKeys")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise problem
    for name, value in patch.items():
        if value is not None and name not in keys and not name.startswith((DELETE_FROM, SET_ORDER)):
            raise problem
    return {name: item for name, item in original.items() if name in keys}


def _set(result: JsonObject, name: str, value: Any) -> None:
    """Put in something new: without nulls and directives."""
    value = _undirected(without_nulls(value))
    if value is _NOT_IN_PATCH:
        result.pop(name, None)
    else:
        result[name] = value


def _undirected(value: Any) -> Any:
    """A value without the maps in it that are directives."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _NOT_IN_PATCH
        kept = {name: _undirected(item) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item is not _NOT_IN_PATCH}
    if isinstance(value, list):
        return [item for item in map(_undirected, value) if item is not _NOT_IN_PATCH]
    return value


def _merge_member(result: JsonObject, name: str, value: Any, schema: Schema, *, deleting: bool) -> None:
    """Both sides have a value of the same JSON type."""
    if isinstance(value, dict):
        member = _member(schema, name)
        replaces = _strategy(member) == REPLACE
        result[name] = value if replaces else _merged_map(result[name], value, member)
    elif isinstance(value, list):
        member = _member(schema, name)
        if deleting or _strategy(member) == MERGE:
            result[name] = _merged_list(result[name], value, member, deleting=deleting)
        else:
            result[name] = value
    else:
        result[name] = value


def _member(schema: Schema, name: str) -> Schema:
    """The schema of a member. Members of a map have no merge strategies."""
    found = (schema.get("properties") or {}).get(name)
    if found is not None:
        return found  # type: ignore[no-any-return]
    if schema.get("additionalProperties"):
        raise StrategicPatchError(
            "merging an object in json but data type is not struct, instead is: map", _INTERNAL
        )
    return {}


def _strategy(member: Schema) -> str:
    """How a field merges; retainKeys only allows that directive in the patch."""
    stated = [
        part
        for part in str(member.get("x-kubernetes-patch-strategy") or "").split(",")
        if part != "retainKeys"
    ]
    return stated[0] if stated else ""


def _merge_key(member: Schema) -> str:
    return str(member.get("x-kubernetes-patch-merge-key") or "")


def _list_name(key: str, problem: str) -> str:
    prefix, found, name = key.partition("/")
    if not found or prefix not in (DELETE_FROM, SET_ORDER):
        raise StrategicPatchError(problem)
    return name


def _merged_list(
    original: list[Any], patch: list[Any], member: Schema, *, deleting: bool = False
) -> list[Any]:
    """Two lists merged by key, or as sets of scalars. The patch's items come in its order, the others in theirs."""
    if not original and not patch:
        return original
    is_map = element_type(original, patch) is dict
    key = _merge_key(member)
    if not is_map:
        if deleting:
            gone = {(type(item), item) for item in patch}
            return [item for item in original if (type(item), item) not in gone]
        items = list({(type(item), item): item for item in [*original, *patch]}.values())
    else:
        if not key:
            raise StrategicPatchError("cannot merge lists without merge key for ", _INTERNAL)
        original, patch = _without_special(original, patch, key)
        items = _merged_items(original, patch, key, member.get("items") or {})
    mine, others = split_by_presence(items, patch, key)
    return ordered(mine, others, patch, original, key, is_map=is_map)


def _without_special(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Both lists after the patch's items that are directives were obeyed."""
    plain_items: list[Any] = []
    replacing = False
    for item in patch:
        match item.get(DIRECTIVE, _NOT_IN_PATCH):
            case directive if directive is _NOT_IN_PATCH:
                plain_items.append(item)
            case "delete":
                if key not in item:
                    raise _no_merge_key(item, key)
                gone = (type(item[key]), item[key])
                original = [entry for entry in original if (type(entry.get(key)), entry.get(key)) != gone]
            case "replace":
                replacing = True
            case "merge":
                raise StrategicPatchError("merging lists cannot yet be specified in the patch", _INTERNAL)
            case directive:
                raise StrategicPatchError(
                    f"unknown patch type: {plain(directive)} in map: {plain(item)}", _INTERNAL
                )
    return (plain_items, []) if replacing else (original, plain_items)


def _merged_items(original: list[Any], patch: list[Any], key: str, schema: Schema) -> list[Any]:
    items = list(original)
    places: dict[Any, int] = {}
    for place, entry in enumerate(items):
        if key in entry:
            places.setdefault((type(entry[key]), entry[key]), place)
    for item in patch:
        if key not in item:
            raise _no_merge_key(item, key)
        value = (type(item[key]), item[key])
        if value in places:
            items[places[value]] = _merged_map(items[places[value]], item, schema)
        else:
            places[value] = len(items)
            items.append(item)
    return items


def _no_merge_key(item: JsonObject, key: str) -> StrategicPatchError:
    return StrategicPatchError(f"map: {plain(item)} does not contain declared merge key: {key}", _INTERNAL)


def _merge_ordered(result: JsonObject, patch: JsonObject, directive: str, schema: Schema) -> None:
    """Merge a list whose order the patch states, and remove it from the patch."""
    wanted = patch.pop(directive)
    name = _list_name(directive, "invalid patch format of setElementOrder list")
    for value in (wanted, result.get(name, []), patch.get(name, [])):
        if not isinstance(value, list):
            raise StrategicPatchError(
                f"expected a []interface {{}}, but received a {type_name(value)}", _INTERNAL
            )
    if name not in (schema.get("properties") or {}):
        raise StrategicPatchError(
            f'unable to find api field in struct  for the json field "{name}"', _INTERNAL
        )
    member = _member(schema, name)
    key = _merge_key(member)
    before, sent = result.get(name), patch.pop(name, None)
    check_order(sent or [], wanted, key)
    if before is None and sent is None:
        return
    if sent is None:
        items = before or []
    elif before is None:
        items = _undirected(sent)
    else:
        items = _merged_list(before, sent, member) if _strategy(member) == MERGE else sent
    is_map = element_type(before or [], sent or []) is dict
    mine, others = split_by_presence(items, wanted, key)
    result[name] = ordered(mine, others, wanted, before or [], key, is_map=is_map)
