"""The status of a pod, from what its containers do. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from picokube.nodeagent import timestamps
from picokube.nodeagent.conditions import with_condition
from picokube.nodeagent.pods.pod_fields import ADDRESS
from picokube.nodeagent.pods.pod_plan import ENDED, REFUSED, PodPlan, is_sidecar, latest_runs
from picokube.nodeagent.supervisor.orders import Run, RunKey

Obj = dict[str, Any]

PROCESS_MODE = "ProcessMode"
"""The condition that says how the containers of a pod run here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a container has not started."""

    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Everything that is known of a pod beside the object."""

    runs: Sequence[Run] = ()
    waiting: Mapping[str, Waiting] = field(default_factory=dict)
    messages: Mapping[RunKey, str] = field(default_factory=dict)
    """What containers left as their last words."""
    mode: Obj = field(default_factory=dict)
    """Reason and message of the condition that says how containers run."""


def pod_status(pod: Obj, plan: PodPlan, seen: Seen, *, now: datetime) -> Obj:
    """The whole status, as it should be stored."""
    old: Obj = pod.get("status") or {}
    spec = pod["spec"]
    inits = [_container_status(each, plan, seen, is_init=True) for each in spec.get("initContainers") or ()]
    mains = [_container_status(each, plan, seen, is_init=False) for each in spec["containers"]]
    are_ready = (
        bool(mains) and all(each["ready"] for each in mains) and plan.phase == "Running" and not plan.stop
    )
    status: Obj = {
        **{name: value for name, value in old.items() if name not in ("reason", "message")},
        "phase": plan.phase,
        "hostIP": ADDRESS,
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "startTime": old.get("startTime") or _started(seen.runs, now),
        "containerStatuses": mains,
        "conditions": _conditions(old, plan, seen.mode, are_ready=are_ready, now=now),
    }
    if inits:
        status["initContainerStatuses"] = inits
    for name, value in (("reason", plan.reason), ("message", plan.message)):
        if value:
            status[name] = value
    return status


def is_same(old: Obj, new: Obj) -> bool:
    """Whether nothing is new but the time of looking."""
    return _timeless(old) == _timeless(new)


def _timeless(status: Obj) -> Obj:
    conditions = [
        {name: each.get(name) for name in ("type", "status", "reason", "message")}
        for each in status.get("conditions") or ()
    ]
    conditions.sort(key=lambda each: str(each["type"]))
    rest = {
        name: value for name, value in status.items() if name not in ("conditions", "qosClass", "hostIPs")
    }
    return rest | {"conditions": conditions}


def _started(runs: Sequence[Run], now: datetime) -> str:
    first = min((run.started_at for run in runs if run.started_at), default=None)
    return timestamps.written(now if first is None else timestamps.from_epoch(first))


def _container_status(container: Obj, plan: PodPlan, seen: Seen, *, is_init: bool) -> Obj:
    name = container["name"]
    run = latest_runs(seen.runs).get(name)
    state = _state(name, run, plan, seen, is_init=is_init)
    is_running = "running" in state
    is_done = run is not None and run.is_over and run.code == 0
    serves = not is_init or is_sidecar(container)
    status: Obj = {
        "name": name,
        "image": container.get("image", ""),
        "imageID": "",
        "restartCount": run.key.restart if run is not None else 0,
        "ready": (is_running and not plan.stop) if serves else is_done,
        "started": is_running if serves else False,
        "state": state,
        "lastState": _last_state(name, run, seen, state),
    }
    if run is not None:
        status["containerID"] = f"process://{run.key.id}"
    return status


def _state(name: str, run: Run | None, plan: PodPlan, seen: Seen, *, is_init: bool) -> Obj:
    if run is None:
        default = "ContainerCreating" if plan.is_initialized or is_init else "PodInitializing"
        waiting = seen.waiting.get(name) or Waiting(reason=default)
        if plan.reason == REFUSED:
            waiting = Waiting(reason="CreateContainerConfigError", message=plan.message)
        return {"waiting": _without_empty({"reason": waiting.reason, "message": waiting.message})}
    if not run.is_over:
        return {"running": {"startedAt": timestamps.written(timestamps.from_epoch(run.started_at))}}
    if name in plan.backing_off:
        message = (
            f"back-off until {timestamps.written(plan.backing_off[name])} restarting failed container {name}"
        )
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return {"terminated": _terminated(run, seen)}


def _last_state(name: str, run: Run | None, seen: Seen, state: Obj) -> Obj:
    if run is None:
        return {}
    if run.is_over and "waiting" in state:
        return {"terminated": _terminated(run, seen)}
    before = [
        each for each in seen.runs if each.key.container == name and each.key.restart == run.key.restart - 1
    ]
    return {"terminated": _terminated(before[0], seen)} if before and before[0].is_over else {}


def _terminated(run: Run, seen: Seen) -> Obj:
    started = run.started_at or run.finished_at
    return _without_empty(
        {
            "exitCode": run.code,
            "reason": run.reason or ("Completed" if run.code == 0 else "Error"),
            "message": run.message or seen.messages.get(run.key, ""),
            "startedAt": timestamps.written(timestamps.from_epoch(started)),
            "finishedAt": timestamps.written(timestamps.from_epoch(run.finished_at)),
            "containerID": f"process://{run.key.id}",
        }
    )


def _without_empty(values: Obj) -> Obj:
    return {name: value for name, value in values.items() if value != ""}


def _conditions(old: Obj, plan: PodPlan, mode: Obj, *, are_ready: bool, now: datetime) -> list[Obj]:
    ended = plan.phase in ENDED
    ready_reason = (
        "" if are_ready else ("PodCompleted" if plan.phase == "Succeeded" else "PodFailed" if ended else "")
    )
    initialized = plan.is_initialized or plan.phase == "Succeeded"
    wanted: list[Obj] = [
        {"type": "PodScheduled", "status": "True"},
        {
            "type": "Initialized",
            "status": _word(initialized),
            "reason": "" if initialized else "ContainersNotInitialized",
        },
        {
            "type": "ContainersReady",
            "status": _word(are_ready),
            "reason": ready_reason or ("" if are_ready else "ContainersNotReady"),
        },
        {
            "type": "Ready",
            "status": _word(are_ready),
            "reason": ready_reason or ("" if are_ready else "ContainersNotReady"),
        },
    ]
    if mode:
        wanted.append({"type": PROCESS_MODE, "status": "True", **mode})
    conditions = list(old.get("conditions") or ())
    for each in wanted:
        new = _without_empty(each) | {"lastTransitionTime": timestamps.written(now)}
        conditions = with_condition(conditions, new)
    return conditions


def _word(fact: bool) -> str:
    return "True" if fact else "False"
