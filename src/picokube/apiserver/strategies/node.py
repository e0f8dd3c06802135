"""Nodes."""

from typing import Any, ClassVar, Final

from picokube.apiserver.strategies.checks import Json, JsonObject, not_supported, required
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import NONE, UNKNOWN, created
from picokube.schema import FieldError

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
            _state(obj),
            _roles(obj),
            created(obj),
            info.get("kubeletVersion", ""),
            _address(status, "InternalIP"),
            _address(status, "ExternalIP"),
            info.get("osImage") or UNKNOWN,
            info.get("kernelVersion") or UNKNOWN,
            info.get("containerRuntimeVersion") or UNKNOWN,
        ]


def _state(obj: Json) -> str:
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
