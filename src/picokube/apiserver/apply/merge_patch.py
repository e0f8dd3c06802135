"""JSON merge patch (RFC 7386), as Kubernetes reads it: nulls vanish from whatever the patch puts in, lists included.

Knows JSON values only.
"""

from typing import Any

import orjson


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with the patch laid over it. Both stay as they are; the result shares parts with the target only."""
    if not isinstance(patch, dict):
        return _copied(patch) if isinstance(target, dict) else without_nulls(patch)
    if not isinstance(target, dict):
        return without_nulls(patch)
    merged = target.copy()
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif (found := merged.get(name)) is None:
            merged[name] = without_nulls(value)
        else:
            merged[name] = merge_patch(found, value)
    return merged


def without_nulls(value: Any) -> Any:
    """A copy in which no object, however deep, has a null member. Nulls that are list items stay."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _copied(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value)) if isinstance(value, dict | list) else value
