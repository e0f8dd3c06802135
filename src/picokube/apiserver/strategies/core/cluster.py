"""Namespaces, Nodes, Leases and PriorityClasses."""

from typing import Any, ClassVar, Final

from picokube.apiserver.kinds.names import finalizer_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    TAINT_EFFECTS,
    Problems,
    at_least,
    check,
    each,
    forbidden,
    immutable,
    invalid,
    members,
    need,
    non_negative,
    one_of,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import NONE, UNKNOWN, created

NAME_LABEL: Final = "kubernetes.io/metadata.name"
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_ROLE: Final = "node-role.kubernetes.io/"
_MAX_PRIORITY: Final = 1_000_000_000
_SYSTEM: Final = ("system-cluster-critical", "system-node-critical")


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

    def problems(self, obj: Json) -> Problems:
        for finalizer in obj["spec"].get("finalizers") or ():
            for problem in finalizer_problems(finalizer):
                yield invalid("spec.finalizers", finalizer, problem)

    def status_problems(self, obj: Json, _old: Json) -> Problems:
        phase, is_deleted = obj["status"].get("phase"), bool(obj["metadata"].get("deletionTimestamp"))
        wanted, why = ("Terminating", "is not empty") if is_deleted else ("Active", "is empty")
        if phase != wanted:
            yield invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` {why}")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [(obj.get("status") or {}).get("phase", ""), created(obj)]


class Node(Kind):
    """A machine that runs pods. It is created with its status, and tainted until a client finds it ready."""

    dropped_on_create: ClassVar = ()

    def default(self, obj: JsonObject) -> None:
        status = obj["status"]
        if status.get("capacity") and not status.get("allocatable"):
            status["allocatable"] = dict(status["capacity"])

    def reset(self, obj: JsonObject) -> None:
        taints = obj["spec"].get("taints") or []
        if _NOT_READY not in taints:
            obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]

    def problems(self, obj: Json) -> Problems:
        taint = members(("key", need()), ("effect", one_of(*TAINT_EFFECTS)))
        return check("metadata", obj["spec"], ("taints", each(taint)))

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
    conditions = (obj.get("status") or {}).get("conditions") or ()
    ready = [condition.get("status") for condition in conditions if condition.get("type") == "Ready"]
    state = "Unknown" if not ready else "Ready" if ready[-1] == "True" else "NotReady"
    return state + (",SchedulingDisabled" if (obj.get("spec") or {}).get("unschedulable") else "")


def _roles(obj: Json) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE) and key != _ROLE}
    if named := labels.get("kubernetes.io/role"):
        roles.add(named)
    return ",".join(sorted(roles)) or NONE


def _address(status: Json, kind: str) -> str:
    addresses = status.get("addresses") or ()
    return next((item.get("address", "") for item in addresses if item.get("type") == kind), NONE)


class Lease(Kind):
    """A lease. Coordinated election is an alpha feature and switched off: its fields are dropped."""

    rules: ClassVar = (
        (
            "spec",
            members(
                ("leaseDurationSeconds", at_least(1, "must be greater than 0")),
                ("leaseTransitions", non_negative),
            ),
        ),
    )

    def reset(self, obj: JsonObject) -> None:
        for name in ("strategy", "preferredHolder"):
            obj["spec"].pop(name, None)

    def reset_update(self, obj: JsonObject, _old: Json, _subresource: str) -> None:
        self.reset(obj)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [(obj.get("spec") or {}).get("holderIdentity", ""), created(obj)]


class PriorityClass(Kind):
    """A priority that pods may name."""

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def reset(self, obj: JsonObject) -> None:
        # It has a generation that never changes: nothing of it is ever observed.
        obj["metadata"]["generation"] = 1

    def problems(self, obj: Json) -> Problems:
        name = obj["metadata"].get("name", "")
        if name.startswith("system-") and name not in _SYSTEM:
            detail = (
                "priority class names with 'system-' prefix are reserved for system use only. error: "
                f"{name} is not a known system priority class"
            )
            yield forbidden("metadata.name", detail)
        if not name.startswith("system-") and obj.get("value", 0) > _MAX_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {_MAX_PRIORITY}"
            yield forbidden("value", detail)
        policies = one_of("PreemptLowerPriority", "Never")
        yield from policies("preemptionPolicy", obj.get("preemptionPolicy"))

    def update_problems(self, obj: Json, old: Json) -> Problems:
        if obj.get("value", 0) != old.get("value", 0):
            yield forbidden("value", "may not be changed in an update.")
        yield from immutable("preemptionPolicy", obj.get("preemptionPolicy"), old.get("preemptionPolicy"))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            created(obj),
            obj.get("preemptionPolicy", "PreemptLowerPriority"),
        ]
