"""Rows of `kubectl get pods`: the state of a pod, derived from the states of its containers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.printing import NONE, age, created


def pod_cells(obj: Json) -> list[Any]:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    statuses: Sequence[Json] = status.get("containerStatuses") or ()
    reason, is_starting = _init_reason(spec, status, _first_reason(status))
    counted = [*_sidecars(spec, status), *statuses]
    if not is_starting:
        reason = _container_reason(statuses, status, reason)
    ready = sum(
        1 for item in counted if item.get("ready") and (item.get("state") or {}).get("running") is not None
    )
    total = len(spec.get("containers") or ()) + len(
        [
            init_container
            for init_container in spec.get("initContainers") or ()
            if init_container.get("restartPolicy") == "Always"
        ]
    )
    if obj["metadata"].get("deletionTimestamp"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else reason
        if status.get("phase") not in ("Succeeded", "Failed") and reason != "Unknown":
            reason = "Terminating"
    return [
        f"{ready}/{total}",
        reason,
        _restarts(status, is_starting=is_starting, counted=counted),
        created(obj),
        _address(status),
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


_ENDS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def pod_conditions(obj: Json) -> list[dict[str, Any]]:
    """Conditions of a row: that the pod has ended."""
    phase = (obj.get("status") or {}).get("phase")
    if phase not in _ENDS:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDS[phase]}]


def _first_reason(status: Json) -> str:
    reason = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    return str(reason)


def _sidecars(spec: Json, status: Json) -> list[Json]:
    names = {
        init_container["name"]
        for init_container in spec.get("initContainers") or ()
        if init_container.get("restartPolicy") == "Always"
    }
    return [item for item in status.get("initContainerStatuses") or () if item.get("name") in names]


def _init_reason(spec: Json, status: Json, reason: str) -> tuple[str, bool]:
    """The reason while init containers run, and whether they still do."""
    planned = {
        init_container.get("name"): init_container for init_container in spec.get("initContainers") or ()
    }
    for n, item in enumerate(status.get("initContainerStatuses") or ()):
        state = item.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if planned.get(item.get("name"), {}).get("restartPolicy") == "Always" and item.get("started"):
            continue
        if ended is not None:
            return f"Init:{_ended(ended)}", True
        if waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}", True
        return f"Init:{n}/{len(planned)}", True
    return reason, False


def _container_reason(statuses: Sequence[Json], status: Json, reason: str) -> str:
    is_running = False
    for item in reversed(statuses):
        state: dict[str, Any] = item.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _ended(ended)
        elif item.get("ready") and state.get("running") is not None:
            is_running = True
    if reason == "Completed" and is_running:
        ready = any(
            condition.get("type") == "Ready" and condition.get("status") == "True"
            for condition in status.get("conditions") or ()
        )
        return "Running" if ready else "NotReady"
    return reason


def _ended(state: Json) -> str:
    if state.get("reason"):
        return str(state["reason"])
    return f"Signal:{state['signal']}" if state.get("signal") else f"ExitCode:{state.get('exitCode', 0)}"


def _restarts(status: Json, *, is_starting: bool, counted: Sequence[Json]) -> str:
    shown = status.get("initContainerStatuses") or () if is_starting else counted
    count = sum(item.get("restartCount", 0) for item in shown)
    ends = [
        ended["finishedAt"]
        for item in shown
        if (ended := (item.get("lastState") or {}).get("terminated")) is not None and ended.get("finishedAt")
    ]
    if not count or not ends:
        return str(count)
    return f"{count} ({age(max(ends, key=datetime.fromisoformat))} ago)"


def _address(status: Json) -> str:
    addresses = status.get("podIPs") or ()
    return str(addresses[0].get("ip", "")) if addresses else str(status.get("podIP") or NONE)


def _gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    true = {
        condition.get("type")
        for condition in status.get("conditions") or ()
        if condition.get("status") == "True"
    }
    return f"{sum(1 for gate in gates if gate.get('conditionType') in true)}/{len(gates)}"
