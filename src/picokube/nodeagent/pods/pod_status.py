"""Builds the status of a pod from its plan and the runs of its containers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kubekit.metadata import with_condition
from kubekit.times import from_epoch, rfc3339_seconds
from picokube.nodeagent.object_writes import TERMINAL_PHASES
from picokube.nodeagent.pods.environment import ADDRESS
from picokube.nodeagent.pods.pod_plan import UNSUPPORTED_FIELD, PodPlan, is_sidecar, latest_runs
from picokube.nodeagent.supervisor.protocol import Run, RunKey

Obj = dict[str, Any]

PROCESS_MODE = "ProcessMode"
"""Type of the condition that describes how the pod's containers run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a container has not started."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodObservation:
    """The state of a pod beyond its API object."""

    runs: Sequence[Run] = ()
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    messages: Mapping[RunKey, str] = field(default_factory=dict)
    """Termination messages."""
    mode: Obj = field(default_factory=dict)
    """Reason and message of the ProcessMode condition."""


def pod_status(pod: Obj, plan: PodPlan, observed: PodObservation, *, now: datetime) -> Obj:
    """The complete status to store."""
    old: Obj = pod.get("status") or {}
    spec = pod["spec"]
    inits = [
        _container_status(init_container, plan, observed, is_init=True)
        for init_container in spec.get("initContainers") or ()
    ]
    mains = [_container_status(container, plan, observed, is_init=False) for container in spec["containers"]]
    are_ready = (
        bool(mains) and all(main["ready"] for main in mains) and plan.phase == "Running" and not plan.stop
    )
    status: Obj = {
        **{name: value for name, value in old.items() if name not in ("reason", "message")},
        "phase": plan.phase,
        "hostIP": ADDRESS,
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "startTime": old.get("startTime") or _start_time(observed.runs, now),
        "containerStatuses": mains,
        "conditions": _conditions(old, plan, observed.mode, are_ready=are_ready, now=now),
    }
    if inits:
        status["initContainerStatuses"] = inits
    for name, value in (("reason", plan.reason), ("message", plan.message)):
        if value:
            status[name] = value
    return status


def is_same(old: Obj, new: Obj) -> bool:
    """Whether two statuses differ only in condition timestamps."""
    return _comparable(old) == _comparable(new)


def _comparable(status: Obj) -> Obj:
    conditions = [
        {name: condition.get(name) for name in ("type", "status", "reason", "message")}
        for condition in status.get("conditions") or ()
    ]
    conditions.sort(key=lambda item: str(item["type"]))
    rest = {
        name: value for name, value in status.items() if name not in ("conditions", "qosClass", "hostIPs")
    }
    return rest | {"conditions": conditions}


def _start_time(runs: Sequence[Run], now: datetime) -> str:
    first = min((run.started_at for run in runs if run.started_at), default=None)
    return rfc3339_seconds(now if first is None else from_epoch(first))


def _container_status(container: Obj, plan: PodPlan, observed: PodObservation, *, is_init: bool) -> Obj:
    name = container["name"]
    run = latest_runs(observed.runs).get(name)
    state = _state(name, run, plan, observed, is_init=is_init)
    is_running = "running" in state
    has_succeeded = run is not None and run.is_over and run.code == 0
    is_long_running = not is_init or is_sidecar(container)
    status: Obj = {
        "name": name,
        "image": container.get("image", ""),
        "imageID": "",
        "restartCount": run.key.restart if run is not None else 0,
        "ready": (is_running and not plan.stop) if is_long_running else has_succeeded,
        "started": is_running if is_long_running else False,
        "state": state,
        "lastState": _last_state(name, run, observed, state),
    }
    if run is not None:
        status["containerID"] = f"process://{run.key.id}"
    return status


def _state(name: str, run: Run | None, plan: PodPlan, observed: PodObservation, *, is_init: bool) -> Obj:
    if run is None:
        default = "ContainerCreating" if plan.is_initialized or is_init else "PodInitializing"
        waiting = observed.waiting.get(name) or Waiting(reason=default)
        if plan.reason == UNSUPPORTED_FIELD:
            waiting = Waiting(reason="CreateContainerConfigError", message=plan.message)
        return {"waiting": _without_empty({"reason": waiting.reason, "message": waiting.message})}
    if not run.is_over:
        return {"running": {"startedAt": rfc3339_seconds(from_epoch(run.started_at))}}
    if name in plan.backing_off:
        message = (
            f"back-off until {rfc3339_seconds(plan.backing_off[name])} restarting failed container {name}"
        )
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return {"terminated": _terminated(run, observed)}


def _last_state(name: str, run: Run | None, observed: PodObservation, state: Obj) -> Obj:
    if run is None:
        return {}
    if run.is_over and "waiting" in state:
        return {"terminated": _terminated(run, observed)}
    previous = [
        item
        for item in observed.runs
        if item.key.container == name and item.key.restart == run.key.restart - 1
    ]
    return {"terminated": _terminated(previous[0], observed)} if previous and previous[0].is_over else {}


def _terminated(run: Run, observed: PodObservation) -> Obj:
    started = run.started_at or run.finished_at
    return _without_empty(
        {
            "exitCode": run.code,
            "reason": run.reason or ("Completed" if run.code == 0 else "Error"),
            "message": run.message or observed.messages.get(run.key, ""),
            "startedAt": rfc3339_seconds(from_epoch(started)),
            "finishedAt": rfc3339_seconds(from_epoch(run.finished_at)),
            "containerID": f"process://{run.key.id}",
        }
    )


def _without_empty(values: Obj) -> Obj:
    return {name: value for name, value in values.items() if value != ""}


def _conditions(old: Obj, plan: PodPlan, mode: Obj, *, are_ready: bool, now: datetime) -> list[Obj]:
    has_ended = plan.phase in TERMINAL_PHASES
    ready_reason = (
        ""
        if are_ready
        else ("PodCompleted" if plan.phase == "Succeeded" else "PodFailed" if has_ended else "")
    )
    initialized = plan.is_initialized or plan.phase == "Succeeded"
    new_conditions: list[Obj] = [
        {"type": "PodScheduled", "status": "True"},
        {
            "type": "Initialized",
            "status": str(initialized),
            "reason": "" if initialized else "ContainersNotInitialized",
        },
        {
            "type": "ContainersReady",
            "status": str(are_ready),
            "reason": ready_reason or ("" if are_ready else "ContainersNotReady"),
        },
        {
            "type": "Ready",
            "status": str(are_ready),
            "reason": ready_reason or ("" if are_ready else "ContainersNotReady"),
        },
    ]
    if mode:
        new_conditions.append({"type": PROCESS_MODE, "status": "True", **mode})
    conditions = list(old.get("conditions") or ())
    for condition in new_conditions:
        new = _without_empty(condition) | {"lastTransitionTime": rfc3339_seconds(now)}
        conditions = with_condition(conditions, new)
    return conditions
