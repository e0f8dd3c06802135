"""Phases and conditions in the status of pods and Jobs."""

from collections.abc import Sequence
from typing import Any

Condition = dict[str, Any]

TERMINAL_PHASES = ("Succeeded", "Failed")


def is_true(conditions: Sequence[Condition] | None, kind: str) -> bool:
    condition = find(conditions, kind)
    return condition is not None and condition.get("status") == "True"


def find(conditions: Sequence[Condition] | None, kind: str) -> Condition | None:
    return next((condition for condition in conditions or () if condition.get("type") == kind), None)


def with_condition(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """The list with one condition set. `lastTransitionTime` changes only with the status."""
    old = find(conditions, new["type"])
    if old is None:
        return [*conditions, new]
    if old.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime", new["lastTransitionTime"])}
    return [new if condition is old else condition for condition in conditions]
