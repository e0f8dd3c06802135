"""PersistentVolumes: stored and shown. Nobody binds them here, so that no finalizer protects a bound one."""

from typing import Any, ClassVar, Final

from picokube.apiserver.strategies.checks import (
    Json,
    JsonObject,
    dns_subdomain,
    forbidden,
    immutable,
    invalid,
    not_supported,
    required,
)
from picokube.apiserver.strategies.claim import ACCESS_MODES, VOLUME_MODES, short_modes
from picokube.apiserver.strategies.printing import UNSET, created
from picokube.apiserver.strategies.scalar_types import quantity_value
from picokube.apiserver.strategies.stored_only import Ignored
from picokube.schema import FieldError
from picokube.schema.go_text import Struct

_SOURCES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
"""In the order in which a real server looks at them."""
_RECLAIM: Final = ("Delete", "Recycle", "Retain")


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
        if policy and policy not in _RECLAIM:
            problems.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
        stated = [name for name in _SOURCES if spec.get(name) is not None]
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
        if any(spec.get(name) != before.get(name) for name in _SOURCES):
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
