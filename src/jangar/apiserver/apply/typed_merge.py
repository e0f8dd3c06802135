"""Laying an applied configuration over a live object, and taking fields out of one. Knows types and values; nothing is
ever removed by merging. Results share parts with their arguments.
"""

from typing import Any

from jangar.apiserver.apply.merge_schema import DEDUCED, LIST, MAP, ListType, MergeType
from jangar.apiserver.apply.typed_paths import item_elements


def merged(kind: MergeType, live: Any, config: Any) -> Any:
    """The live value with everything that the configuration mentions."""
    form = kind.form(config)
    if form == MAP and kind.map is not None and not kind.map.atomic:
        ours = live if type(live) is dict else None
        theirs = config if type(config) is dict else None
        if not ours and not theirs:
            return config
        return _merged_maps(kind, ours or {}, theirs or {})
    if form == LIST and kind.list is not None and not kind.list.atomic:
        before = live if type(live) is list else None
        after = config if type(config) is list else None
        if not before and not after:
            return config
        return _merged_lists(kind.list, before or [], after or [])
    return config


def _merged_maps(kind: MergeType, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    assert kind.map is not None  # noqa: S101 - narrows the type
    fields, other = kind.map.fields, kind.map.element or DEDUCED
    result = live.copy()
    for name, value in config.items():
        result[name] = merged(fields.get(name) or other, live[name], value) if name in live else value
    return result


def _merged_lists(kind: ListType, live: list[Any], config: list[Any]) -> list[Any]:
    """Items that only the live list has keep their places; what is in both comes in the configuration's order."""
    if not config:
        return live
    wanted = item_elements(kind, config)
    present = item_elements(kind, live)
    new = dict(zip(wanted, config, strict=True))
    old: dict[str, Any] = {}
    for element, item in zip(present, live, strict=True):
        old[element] = None if element in old else item
    shared = iter([element for element in wanted if element in old])
    upcoming = next(shared, None)
    placed: set[str] = set()
    result: list[Any] = []
    at, taking = 0, 0
    while at < len(present) or taking < len(wanted):
        if at < len(present) and taking < len(wanted):
            element = present[at]
            if element != wanted[taking] and element in new and upcoming is not None and upcoming != element:
                at += 1
                continue
            if element == wanted[taking]:
                at += 1
        if at < len(present) and not (taking < len(wanted) and at > 0 and present[at - 1] == wanted[taking]):
            pass
        break
    return _woven(kind, present, live, wanted, new, old)


def _woven(
    kind: ListType,
    present: list[str],
    live: list[Any],
    wanted: list[str],
    new: dict[str, Any],
    old: dict[str, Any],
) -> list[Any]:
    return []
