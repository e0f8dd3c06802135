"""Numbers as Go writes them: a float that is whole has no fraction, so 4.0 is stored and shown as 4."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

INTEGERS_BELOW = 2.0**63
"""From here on a number is no integer to Go, however it is written."""
_WHOLE_FLOAT: Final = re.compile(rb"\.0[,}\]]")


def without_fractions_of_zero(obj: dict[str, Any], old: Mapping[str, Any] | None = None) -> None:
    """In place, all but metadata, which holds no floats, and what is shared with `old`, which has none.

    Most objects have none at all, which their text tells.
    """
    known = old or {}
    new = {name: value for name, value in obj.items() if name != "metadata" and value is not known.get(name)}
    if _WHOLE_FLOAT.search(orjson.dumps(list(_changed(new, known)))) is None:
        return
    for name, value in new.items():
        obj[name] = _plain(value)


def _changed(new: Any, old: Any) -> Iterator[Any]:
    """The parts that are not the very same, as far as they are looked for: members, and items of lists."""
    if type(new) is dict and type(old) is dict:
        for name, value in new.items():
            if value is not old.get(name):
                yield from _changed(value, old.get(name))
    elif type(new) is list and type(old) is list:
        known = set(map(id, old))
        yield from (item for item in new if id(item) not in known)
    else:
        yield new


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        for name, item in value.items():
            inner = type(item)
            if inner is dict or inner is list or inner is float:
                value[name] = _plain(item)
    elif kind is list:
        for index, item in enumerate(value):
            inner = type(item)
            if inner is dict or inner is list or inner is float:
                value[index] = _plain(item)
    elif kind is float and value.is_integer() and abs(value) < INTEGERS_BELOW:
        return int(value)
    return value
