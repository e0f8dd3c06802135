"""Claims of storage. Nobody provisions volumes here; a claim waits, as it does where no class fits."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Final

from picokube.apiserver.strategies.checks import (
    Json,
    JsonObject,
    dns_subdomain,
    forbidden,
    invalid,
    not_supported,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import UNSET, created
from picokube.apiserver.strategies.scalar_types import quantity_value
from picokube.schema import FieldError

PROTECTION: Final = "kubernetes.io/pvc-protection"
"""Holds a claim that is deleted while pods use it."""
ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_SHORT: Final = {
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOnce": "RWO",
    "ReadWriteOncePod": "RWOP",
}
_KEPT: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)


class Claim(Kind):
    """A persistent volume claim."""

    def default(self, obj: JsonObject) -> None:
        obj["spec"].setdefault("volumeMode", "Filesystem")
        if not obj.setdefault("status", {}).get("phase"):
            obj["status"]["phase"] = "Pending"

    def reset(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Pending"}
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if PROTECTION not in finalizers:
            finalizers.append(PROTECTION)

    def problems(self, obj: Json) -> list[FieldError]:
        return claim_problems("spec", obj["spec"])

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        problems = claim_problems("spec", obj["spec"])
        if _without_updatable(obj["spec"], old) != _without_updatable(old["spec"], old):
            problems.append(forbidden("spec", _KEPT))
        return problems

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        phase = "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", "")
        is_bound = bool(spec.get("volumeName"))
        return [
            phase,
            spec.get("volumeName", ""),
            (status.get("capacity") or {}).get("storage", "0") if is_bound else "",
            short_modes(status.get("accessModes") or ()) if is_bound else "",
            spec.get("storageClassName") or "",
            spec.get("volumeAttributesClassName") or UNSET,
            created(obj),
            spec.get("volumeMode") or UNSET,
        ]


def short_modes(modes: Collection[str]) -> str:
    return ",".join(_SHORT[item] for item in _SHORT if item in modes)


def claim_problems(field: str, spec: Json) -> list[FieldError]:
    modes = spec.get("accessModes") or ()
    problems: list[FieldError] = []
    if not modes:
        problems.append(required(f"{field}.accessModes", "at least 1 access mode is required"))
    problems += [
        not_supported(f"{field}.accessModes", item, ACCESS_MODES)
        for item in modes
        if item not in ACCESS_MODES
    ]
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    place = f"{field}.resources[storage]"
    if amount is None:
        problems.append(required(place))
    elif quantity_value(amount) <= 0:
        problems.append(invalid(place, amount, "must be greater than zero"))
    if spec.get("storageClassName"):
        problems += dns_subdomain(f"{field}.storageClassName", spec["storageClassName"])
    mode = spec.get("volumeMode")
    if mode not in (None, *VOLUME_MODES):
        problems.append(not_supported(f"{field}.volumeMode", mode, VOLUME_MODES))
    return problems


def _without_updatable(spec: Json, old: Json) -> JsonObject:
    found = deepcopy(dict(spec))
    is_bound = (old.get("status") or {}).get("phase") == "Bound"
    if is_bound:
        (found.get("resources") or {}).pop("requests", None)
        found.pop("volumeAttributesClassName", None)
    if not old["spec"].get("volumeName"):
        found.pop("volumeName", None)
    return found
