"""Parts that all Kubernetes objects have in common: owner references and conditions. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

Obj = Mapping[str, Any]
Condition = dict[str, Any]


def controller_of(obj: Obj) -> Obj | None:
    """The owner reference with `controller: true`. None if there is none."""
    owners: Sequence[Obj] = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def is_controlled_by(obj: Obj, uid: str) -> bool:
    """Whether the object with this uid controls the object."""
    controller = controller_of(obj)
    return controller is not None and controller.get("uid") == uid


def controller_reference(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    """The owner reference of a controller. Its objects are deleted with it."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def has_condition(obj: Obj, kind: str) -> bool:
    """Whether the condition of this type in the object's status is True."""
    return is_condition_true((obj.get("status") or {}).get("conditions"), kind)


def is_condition_true(conditions: Sequence[Condition] | None, kind: str) -> bool:
    condition = find_condition(conditions, kind)
    return condition is not None and condition.get("status") == "True"


def find_condition(conditions: Sequence[Condition] | None, kind: str) -> Condition | None:
    return next((condition for condition in conditions or () if condition.get("type") == kind), None)


def with_condition(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """The list with one condition set. `lastTransitionTime` changes only with the status."""
    old = find_condition(conditions, new["type"])
    if old is None:
        return [*conditions, new]
    if old.get("status") == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime", new["lastTransitionTime"])}
    return [new if condition is old else condition for condition in conditions]
