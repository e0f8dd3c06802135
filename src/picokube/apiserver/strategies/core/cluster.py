"""Namespaces, Nodes, Leases and PriorityClasses."""

from typing import Any, ClassVar, Final

from picokube.apiserver.kinds.names import finalizer_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    forbidden,
    immutable,
    invalid,
    non_negative,
    not_supported,
    one_of,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import NONE, UNKNOWN, created
from picokube.schema import FieldError

NAME_LABEL: Final = "kubernetes.io/metadata.name"


class Namespace(Kind):
    """A namespace."""

    def default(self, obj: JsonObject) -> None:
        meta = obj["metadata"]
        if meta.get("name"):
            meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: meta["name"]}
        if not obj.setdefault("status", {}).get("phase"):
            obj["status"]["phase"] = "Active"

    def reset(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        if subresource == "finalize":
            self._put_back(obj, old, "status")
        elif subresource == "":
            self._put_back(obj, old, "spec")

    def problems(self, obj: Json) -> list[FieldError]:
        return [
            invalid("spec.finalizers", finalizer, problem)
            for finalizer in obj["spec"].get("finalizers") or ()
            for problem in finalizer_problems(finalizer)
        ]

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        phase, is_leaving = obj["status"].get("phase"), bool(obj["metadata"].get("deletionTimestamp"))
        wanted = "Terminating" if is_leaving else "Active"
        if phase == wanted:
            return []
        why = "is not empty" if is_leaving else "is empty"
        return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` {why}")]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [(obj.get("status") or {}).get("phase", ""), created(obj)]


_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_ROLE: Final = "node-role.kubernetes.io/"


class Node(Kind):
    """A machine that runs pods. It brings its status when it comes.

    It is tainted until somebody finds it ready and takes the taint away.
    """

    dropped_on_create: ClassVar = ()

    def default(self, obj: JsonObject) -> None:
        status = obj["status"]
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])

    def reset(self, obj: JsonObject) -> None:
        taints = obj["spec"].get("taints") or []
        if _NOT_READY not in taints:
            obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]

    def problems(self, obj: Json) -> list[FieldError]:
        problems: list[FieldError] = []
        for n, taint in enumerate(obj["spec"].get("taints") or ()):
            place, effect = f"metadata.taints[{n}]", taint.get("effect", "")
            if not taint.get("key"):
                problems.append(required(f"{place}.key"))
            if not effect:
                problems.append(required(f"{place}.effect"))
            elif effect not in _EFFECTS:
                problems.append(not_supported(f"{place}.effect", effect, _EFFECTS))
        return problems

    def table_cells(self, obj: JsonObject) -> list[Any]:
        status = obj.get("status") or {}
        info = status.get("nodeInfo") or {}
        return [
            _node_state(obj),
            _roles(obj),
            created(obj),
            info.get("kubeletVersion", ""),
            _address(status, "InternalIP"),
            _address(status, "ExternalIP"),
            info.get("osImage") or UNKNOWN,
            info.get("kernelVersion") or UNKNOWN,
            info.get("containerRuntimeVersion") or UNKNOWN,
        ]


def _node_state(obj: Json) -> str:
    found = [
        condition
        for condition in (obj.get("status") or {}).get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    words = ["Unknown"] if not found else ["Ready" if found[-1].get("status") == "True" else "NotReady"]
    if (obj.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(obj: Json) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if named := labels.get("kubernetes.io/role"):
        roles.add(named)
    return ",".join(sorted(roles)) or NONE


def _address(status: Json, kind: str) -> str:
    found = [
        address.get("address", "") for address in status.get("addresses") or () if address.get("type") == kind
    ]
    return found[0] if found else NONE


class Lease(Kind):
    """A lease. Coordinated election is an alpha feature and switched off: what speaks of it is dropped."""

    def reset(self, obj: JsonObject) -> None:
        for name in ("strategy", "preferredHolder"):
            obj["spec"].pop(name, None)

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        del old, subresource
        self.reset(obj)

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        seconds = spec.get("leaseDurationSeconds")
        problems: list[FieldError] = []
        if seconds is not None and seconds <= 0:
            problems.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        return [*problems, *non_negative("spec.leaseTransitions", spec.get("leaseTransitions"))]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [(obj.get("spec") or {}).get("holderIdentity", ""), created(obj)]


_MAX_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = ("system-cluster-critical", "system-node-critical")
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")


class PriorityClass(Kind):
    """A priority that pods may name."""

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def reset(self, obj: JsonObject) -> None:
        # It has a generation, and keeps it: nothing of it is ever observed.
        obj["metadata"]["generation"] = 1

    def problems(self, obj: Json) -> list[FieldError]:
        name = obj["metadata"].get("name", "")
        problems: list[FieldError] = []
        if name.startswith("system-"):
            if name not in _SYSTEM:
                detail = (
                    "priority class names with 'system-' prefix are reserved for system use only. error: "
                    f"{name} is not a known system priority class"
                )
                problems.append(forbidden("metadata.name", detail))
        elif obj.get("value", 0) > _MAX_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
            problems.append(forbidden("value", detail))
        return [*problems, *one_of("preemptionPolicy", obj.get("preemptionPolicy"), _PREEMPTION_POLICIES)]

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        problems = []
        if obj.get("value", 0) != old.get("value", 0):
            problems.append(forbidden("value", "may not be changed in an update."))
        return [
            *problems,
            *immutable("preemptionPolicy", obj.get("preemptionPolicy"), old.get("preemptionPolicy")),
        ]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            created(obj),
            obj.get("preemptionPolicy", "PreemptLowerPriority"),
        ]
