"""Conditions in the status of pods and jobs: looked up, and set without moving their time for nothing."""

from collections.abc import Sequence
from typing import Any

Condition = dict[str, Any]


def is_true(conditions: Sequence[Condition] | None, kind: str) -> bool:
    found = find(conditions, kind)
    return found is not None and found.get("status") == "True"


def find(conditions: Sequence[Condition] | None, kind: str) -> Condition | None:
    return next((each for each in conditions or () if each.get("type") == kind), None)


def with_condition(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """The list with one condition set; its time moves only with its status."""
    old = find(conditions, new["type"])
    if old is None:
        return [*conditions, new]
    if old.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime", new["lastTransitionTime"])}
    return [new if each is old else each for each in conditions]
