"""PersistentVolumeClaims and PersistentVolumes. Nothing provisions or binds volumes."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, ClassVar, Final

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    check,
    dns_subdomain,
    forbidden,
    given,
    immutable,
    invalid,
    need,
    nonempty,
    not_supported,
    required,
    supported,
)
from picokube.apiserver.strategies.kind import Kind, StoredOnly
from picokube.apiserver.strategies.printing import UNSET, created
from picokube.schema.go_text import Struct

PROTECTION: Final = "kubernetes.io/pvc-protection"
"""The finalizer that keeps a deleted claim while pods use it."""
_MODE_ABBREVIATIONS: Final = {
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOnce": "RWO",
    "ReadWriteOncePod": "RWOP",
}
_ACCESS_MODES: Final = tuple(_MODE_ABBREVIATIONS)
_IMMUTABLE_SPEC: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_VOLUME_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
"""In the order of kube-apiserver."""


def _access_modes(field: str, modes: list[str]) -> Problems:
    return (not_supported(field, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES)


def _amount(field: str, amount: str) -> Problems:
    if quantity_value(amount) <= 0:
        yield invalid(field, amount, "must be greater than zero")


_CLASS_AND_MODE: Final = (
    ("storageClassName", nonempty(dns_subdomain)),
    ("volumeMode", given(supported("Block", "Filesystem"))),
)


def _claim_problems(spec: Json) -> Problems:
    modes = need(_access_modes, "at least 1 access mode is required")
    yield from check("spec", spec, ("accessModes", modes))
    amount = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    yield from need(_amount)("spec.resources[storage]", amount)
    yield from check("spec", spec, *_CLASS_AND_MODE)


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

    def problems(self, obj: Json) -> Problems:
        return _claim_problems(obj["spec"])

    def update_problems(self, obj: Json, old: Json) -> Problems:
        yield from _claim_problems(obj["spec"])
        if _without_updatable(obj["spec"], old) != _without_updatable(old["spec"], old):
            yield forbidden("spec", _IMMUTABLE_SPEC)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        is_bound = bool(spec.get("volumeName"))
        return [
            _phase(obj),
            spec.get("volumeName", ""),
            (status.get("capacity") or {}).get("storage", "0") if is_bound else "",
            _short_modes(status.get("accessModes") or ()) if is_bound else "",
            spec.get("storageClassName") or "",
            spec.get("volumeAttributesClassName") or UNSET,
            created(obj),
            spec.get("volumeMode") or UNSET,
        ]


def _phase(obj: Json) -> str:
    is_deleted = obj["metadata"].get("deletionTimestamp")
    return "Terminating" if is_deleted else (obj.get("status") or {}).get("phase", "")


def _short_modes(modes: Collection[str]) -> str:
    return ",".join(short for mode, short in _MODE_ABBREVIATIONS.items() if mode in modes)


def _without_updatable(spec: Json, old: Json) -> JsonObject:
    found = deepcopy(dict(spec))
    if (old.get("status") or {}).get("phase") == "Bound":
        (found.get("resources") or {}).pop("requests", None)
        found.pop("volumeAttributesClassName", None)
    if not old["spec"].get("volumeName"):
        found.pop("volumeName", None)
    return found


def _capacity(field: str, capacity: Json | None) -> Problems:
    if not capacity:
        yield required(field)
    if set(capacity or ()) != {"storage"}:
        yield not_supported(field, Struct(capacity) if capacity else None, ("storage",))
    for name, amount in sorted((capacity or {}).items()):
        yield from _amount(f"{field}[{name}]", amount)


class PersistentVolume(StoredOnly):
    """A volume of the cluster. Nothing binds it, so no finalizer protects a bound one."""

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

    def problems(self, obj: Json) -> Problems:
        spec = obj["spec"]
        yield from check("spec", spec, ("accessModes", need(_access_modes)))
        modes = spec.get("accessModes") or ()
        if "ReadWriteOncePod" in modes and set(modes) & set(_ACCESS_MODES) != {"ReadWriteOncePod"}:
            yield forbidden("spec.accessModes", "may not use ReadWriteOncePod with other access modes")
        policy = nonempty(supported("Delete", "Recycle", "Retain"))
        yield from check("spec", spec, ("capacity", _capacity), ("persistentVolumeReclaimPolicy", policy))
        stated = [name for name in _VOLUME_SOURCES if spec.get(name) is not None]
        for name in stated[1:]:
            yield forbidden(f"spec.{name}", "may not specify more than 1 volume type")
        if stated[:1] in (["hostPath"], ["local"]) and not spec[stated[0]].get("path"):
            yield required(f"spec.{stated[0]}.path")
        if not stated:
            yield required("spec", "must specify a volume type")
        yield from check("spec", spec, *_CLASS_AND_MODE)

    def update_problems(self, obj: Json, old: Json) -> Problems:
        spec, before = obj["spec"], old["spec"]
        yield from self.problems(obj)
        if any(spec.get(name) != before.get(name) for name in _VOLUME_SOURCES):
            detail = "spec.persistentvolumesource is immutable after creation"
            yield forbidden("spec.persistentvolumesource", detail)
        yield from immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, claim = obj.get("spec") or {}, (obj.get("spec") or {}).get("claimRef")
        return [
            (spec.get("capacity") or {}).get("storage", "0"),
            _short_modes(spec.get("accessModes") or ()),
            spec.get("persistentVolumeReclaimPolicy", ""),
            _phase(obj),
            f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
            spec.get("storageClassName", ""),
            spec.get("volumeAttributesClassName") or UNSET,
            (obj.get("status") or {}).get("reason", ""),
            created(obj),
            spec.get("volumeMode") or UNSET,
        ]
