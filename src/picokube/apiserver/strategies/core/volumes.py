"""PersistentVolumeClaims and PersistentVolumes. Nothing provisions or binds volumes."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, ClassVar, Final

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    dns_subdomain,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
)
from picokube.apiserver.strategies.kind import Ignored, Kind
from picokube.apiserver.strategies.printing import UNSET, created
from picokube.schema import FieldError
from picokube.schema.go_text import Struct

PROTECTION: Final = "kubernetes.io/pvc-protection"
"""Holds a claim that is deleted while pods use it."""
ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES: Final = ("Block", "Filesystem")
_MODE_ABBREVIATIONS: Final = {
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOnce": "RWO",
    "ReadWriteOncePod": "RWOP",
}
_IMMUTABLE_SPEC: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)


class PersistentVolumeClaim(Kind):
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
            problems.append(forbidden("spec", _IMMUTABLE_SPEC))
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
    return ",".join(_MODE_ABBREVIATIONS[item] for item in _MODE_ABBREVIATIONS if item in modes)


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


_VOLUME_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
"""In the order in which a real server looks at them."""
_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")


class PersistentVolume(Ignored):
    """A volume of the cluster."""

    plural: ClassVar = "PersistentVolumes"

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        if not obj.setdefault("status", {}).get("phase"):
            obj["status"]["phase"] = "Pending"
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        if spec.get("hostPath") is not None:
            spec["hostPath"].setdefault("type", "")

    def reset(self, obj: JsonObject) -> None:
        since = obj["metadata"].get("creationTimestamp")
        obj["status"] = {"phase": "Pending"} | ({"lastPhaseTransitionTime": since} if since else {})

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        problems = [*_mode_problems(spec), *_capacity_problems(spec.get("capacity") or {})]
        policy = spec.get("persistentVolumeReclaimPolicy")
        if policy and policy not in _RECLAIM_POLICIES:
            problems.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM_POLICIES))
        stated = [name for name in _VOLUME_SOURCES if spec.get(name) is not None]
        detail = "may not specify more than 1 volume type"
        problems += [forbidden(f"spec.{name}", detail) for name in stated[1:]]
        if stated[:1] in (["hostPath"], ["local"]) and not spec[stated[0]].get("path"):
            problems.append(required(f"spec.{stated[0]}.path"))
        if not stated:
            problems.append(required("spec", "must specify a volume type"))
        if spec.get("storageClassName"):
            problems += dns_subdomain("spec.storageClassName", spec["storageClassName"])
        if spec.get("volumeMode") not in (None, *VOLUME_MODES):
            problems.append(not_supported("spec.volumeMode", spec["volumeMode"], VOLUME_MODES))
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        problems = self.problems(obj)
        if any(spec.get(name) != before.get(name) for name in _VOLUME_SOURCES):
            detail = "spec.persistentvolumesource is immutable after creation"
            problems.append(forbidden("spec.persistentvolumesource", detail))
        return problems + immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        claim = spec.get("claimRef")
        return [
            (spec.get("capacity") or {}).get("storage", "0"),
            short_modes(spec.get("accessModes") or ()),
            spec.get("persistentVolumeReclaimPolicy", ""),
            "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", ""),
            f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
            spec.get("storageClassName", ""),
            spec.get("volumeAttributesClassName") or UNSET,
            status.get("reason", ""),
            created(obj),
            spec.get("volumeMode") or UNSET,
        ]


def _mode_problems(spec: Json) -> list[FieldError]:
    modes = spec.get("accessModes") or ()
    problems = [] if modes else [required("spec.accessModes")]
    problems += [
        not_supported("spec.accessModes", mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES
    ]
    if "ReadWriteOncePod" in modes and any(
        mode != "ReadWriteOncePod" for mode in modes if mode in ACCESS_MODES
    ):
        detail = "may not use ReadWriteOncePod with other access modes"
        problems.append(forbidden("spec.accessModes", detail))
    return problems


def _capacity_problems(capacity: Json) -> list[FieldError]:
    problems = [] if capacity else [required("spec.capacity")]
    if set(capacity) != {"storage"}:
        problems.append(not_supported("spec.capacity", Struct(capacity) if capacity else None, ("storage",)))
    for name, amount in sorted(capacity.items()):
        if quantity_value(amount) <= 0:
            problems.append(invalid(f"spec.capacity[{name}]", amount, "must be greater than zero"))
    return problems
