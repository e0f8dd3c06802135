"""From one JSON document to another, as the operations of a JSON patch. Sends what changed, not the whole."""

from collections.abc import Iterator, Mapping
from typing import Any

Operation = dict[str, Any]


def difference(old: Any, new: Any, path: str = "") -> Iterator[Operation]:
    """Operations that turn `old` into `new`. Lists of one length are compared item by item, others replaced.

    What Python calls equal is left as it is: `true` for 1, which no field of a status mixes.
    """
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _of_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from difference(before, after, f"{path}/{index}")
    else:
        yield {"op": "replace", "path": path, "value": new}


def _of_objects(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> Iterator[Operation]:
    for name, before in old.items():
        place = f"{path}/{_escaped(name)}"
        if name in new:
            yield from difference(before, new[name], place)
        else:
            yield {"op": "remove", "path": place}
    for name, after in new.items():
        if name not in old:
            yield {"op": "add", "path": f"{path}/{_escaped(name)}", "value": after}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
