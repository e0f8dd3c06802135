"""Events of Jobs and Pods, with the reasons and messages of kube-controller-manager, kube-scheduler and the kubelet."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from typing import Final

from kubekit.client.api_client import Obj
from kubekit.events.event_recorder import EventRecorder
from kubekit.metadata import is_condition_true
from picokube.nodeagent.supervisor.protocol import Run

MAX_REMEMBERED: Final = 4096
START_ERROR: Final = "StartError"


class EventDeduplicator:
    """Remembers the most recent events, because every reconcile observes the same state again."""

    def __init__(self) -> None:
        self._recorded: OrderedDict[Hashable, None] = OrderedDict()

    def is_new(self, *key: Hashable) -> bool:
        """Whether the key wasn't recorded yet. Records it."""
        if key in self._recorded:
            return False
        self._recorded[key] = None
        if len(self._recorded) > MAX_REMEMBERED:
            self._recorded.popitem(last=False)
        return True


def pod_created(events: EventRecorder, job: Obj, pod: Obj) -> None:
    """A Job created a pod. A pod created with a node name is scheduled, too."""
    _normal(events, job, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")
    if node := pod["spec"].get("nodeName"):
        pod_scheduled(events, pod, node)


def pod_not_created(events: EventRecorder, job: Obj, error: Exception) -> None:
    events.record(job, type="Warning", reason="FailedCreate", message=f"Error creating: {error}")


def job_changed(events: EventRecorder, job: Obj, status: Obj) -> None:
    """Record the conditions that differ between the Job's status and a new status."""
    old = (job.get("status") or {}).get("conditions")
    for condition in status.get("conditions") or ():
        kind, is_set = condition["type"], condition["status"] == "True"
        if is_set is is_condition_true(old, kind):
            continue
        match kind, is_set:
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
    """Record containers that started or failed to start."""
    for run in runs:
        if run.is_over and run.reason == START_ERROR:
            events.record(pod, type="Warning", reason="Failed", message=f"Error: {run.message}")
        else:
            _normal(events, pod, "Started", f"Started container {run.key.container}")


def containers_stopping(
    events: EventRecorder, deduplicator: EventDeduplicator, pod: Obj, stops: Iterable[tuple[str, int]]
) -> None:
    """Record containers (name and restart count) that receive SIGTERM."""
    for name, restart in stops:
        if deduplicator.is_new(pod["metadata"]["uid"], name, restart):
            _normal(events, pod, "Killing", f"Stopping container {name}")


def containers_backing_off(
    events: EventRecorder, deduplicator: EventDeduplicator, pod: Obj, restart_at: Mapping[str, datetime]
) -> None:
    meta = pod["metadata"]
    for name, at in restart_at.items():
        if deduplicator.is_new(meta["uid"], name, at):
            message = f"Back-off restarting failed container {name} in pod {meta['name']}"
            events.record(pod, type="Warning", reason="BackOff", message=message)


def _normal(events: EventRecorder, obj: Obj, reason: str, message: str) -> None:
    events.record(obj, type="Normal", reason=reason, message=message)
