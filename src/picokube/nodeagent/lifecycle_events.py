"""Events of Jobs and Pods, with the reasons and messages of kube-controller-manager, the scheduler and a kubelet."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from typing import Final

from kubekit.client.api_client import Obj
from kubekit.events.event_recorder import EventRecorder
from picokube.nodeagent.conditions import is_true
from picokube.nodeagent.supervisor.orders import Run

MAX_REMEMBERED: Final = 4096
START_ERROR: Final = "StartError"


class Once:
    """Remembers what was recorded: a pass that sees the same again adds no count. The oldest are forgotten."""

    def __init__(self) -> None:
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def is_first(self, *key: Hashable) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > MAX_REMEMBERED:
            self._seen.popitem(last=False)
        return True


def pod_created(events: EventRecorder, job: Obj, pod: Obj) -> None:
    """A Job made a pod; one that is made on its node is scheduled, too."""
    _normal(events, job, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")
    if node := pod["spec"].get("nodeName"):
        pod_scheduled(events, pod, node)


def pod_not_created(events: EventRecorder, job: Obj, error: Exception) -> None:
    events.record(job, type="Warning", reason="FailedCreate", message=f"Error creating: {error}")


def job_changed(events: EventRecorder, job: Obj, status: Obj) -> None:
    """Conditions of a Job that are new in this status."""
    old = (job.get("status") or {}).get("conditions")
    for condition in status.get("conditions") or ():
        kind, holds = condition["type"], condition["status"] == "True"
        if holds is is_true(old, kind):
            continue
        match kind, holds:
            case "Failed", True:
                events.record(job, type="Warning", reason=condition["reason"], message=condition["message"])
            case "Complete", True:
                _normal(events, job, "Completed", "Job completed")
            case "Suspended", True:
                _normal(events, job, "Suspended", "Job suspended")
            case "Suspended", False:
                _normal(events, job, "Resumed", "Job resumed")


def pod_scheduled(events: EventRecorder, pod: Obj, node: str) -> None:
    meta = pod["metadata"]
    message = f"Successfully assigned {meta['namespace']}/{meta['name']} to {node}"
    _normal(events, pod, "Scheduled", message)


def pod_not_scheduled(events: EventRecorder, pod: Obj, reason: str) -> None:
    events.record(pod, type="Warning", reason="FailedScheduling", message=reason)


def containers_started(events: EventRecorder, pod: Obj, runs: Iterable[Run]) -> None:
    """What became of starts; one that failed is over at once."""
    for run in runs:
        if run.is_over and run.reason == START_ERROR:
            events.record(pod, type="Warning", reason="Failed", message=f"Error: {run.message}")
        else:
            _normal(events, pod, "Started", f"Started container {run.key.container}")


def containers_stopping(
    events: EventRecorder, once: Once, pod: Obj, stops: Iterable[tuple[str, int]]
) -> None:
    """Containers, each with the number of its start, that are told to end."""
    for name, restart in stops:
        if once.is_first(pod["metadata"]["uid"], name, restart):
            _normal(events, pod, "Killing", f"Stopping container {name}")


def containers_backing_off(
    events: EventRecorder, once: Once, pod: Obj, until: Mapping[str, datetime]
) -> None:
    meta = pod["metadata"]
    for name, moment in until.items():
        if once.is_first(meta["uid"], name, moment):
            message = f"Back-off restarting failed container {name} in pod {meta['name']}"
            events.record(pod, type="Warning", reason="BackOff", message=message)


def _normal(events: EventRecorder, about: Obj, reason: str, message: str) -> None:
    events.record(about, type="Normal", reason=reason, message=message)
