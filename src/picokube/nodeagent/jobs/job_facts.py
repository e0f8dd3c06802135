"""What can be seen of a job and its pods: which are active, which ended and were not counted yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from picokube.nodeagent import timestamps
from picokube.nodeagent.conditions import find, is_true
from picokube.nodeagent.jobs.indexes import INDEX

Obj = dict[str, Any]

TRACKING = "batch.kubernetes.io/job-tracking"
UNCOUNTED = "node-agent/uncounted"
"""The annotation of a pod that was told to end, that nobody shall count, and that is still to be deleted."""
ENDED = ("Succeeded", "Failed")
FIRST_BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFact:
    """One pod of a job, as far as the job is concerned."""

    name: str
    uid: str
    phase: str
    created: str
    is_leaving: bool
    is_tracked: bool
    is_ready: bool
    restarts: int
    finished_at: datetime
    index: int | None = None
    """Of an indexed job: which of its parts the pod works on."""

    @property
    def is_active(self) -> bool:
        return self.phase not in ENDED and not self.is_leaving

    @property
    def is_terminating(self) -> bool:
        return self.phase not in ENDED and self.is_leaving


def pod_fact(pod: Obj) -> PodFact:
    meta, status = pod["metadata"], pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return PodFact(
        name=meta["name"],
        uid=meta["uid"],
        phase=status.get("phase", "Pending"),
        created=meta.get("creationTimestamp", ""),
        is_leaving=bool(meta.get("deletionTimestamp")),
        is_tracked=TRACKING in (meta.get("finalizers") or ()),
        is_ready=is_true(status.get("conditions"), "Ready"),
        restarts=sum(each.get("restartCount", 0) for each in statuses),
        finished_at=_finished_at(meta, status),
        index=_index((meta.get("annotations") or {}).get(INDEX)),
    )


def _index(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _finished_at(meta: Obj, status: Obj) -> datetime:
    ends = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for each in status.get("containerStatuses") or ()
    ]
    if ends and all(ends):
        return max(timestamps.read(each) for each in ends if each)
    ready = find(status.get("conditions"), "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return timestamps.read(ready["lastTransitionTime"])
    if left := meta.get("deletionTimestamp"):
        return timestamps.read(left) - timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
    return timestamps.read(meta["creationTimestamp"])


def is_failed(job: Obj, pod: PodFact) -> bool:
    """A deleted pod counts as failed at once, unless only failed ones are replaced."""
    if pod.phase == "Failed":
        return True
    if job["spec"].get("podReplacementPolicy") == "Failed":
        return False
    return pod.is_terminating


def is_finished(job: Obj) -> bool:
    conditions = (job.get("status") or {}).get("conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def is_indexed(job: Obj) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_suspended(job: Obj) -> bool:
    return bool(job["spec"].get("suspend"))


def next_pod_at(job: Obj, pods: Sequence[PodFact]) -> datetime | None:
    """When another pod may be made after failures: each failure since the last success doubles the wait."""
    succeeded = [pod.finished_at for pod in pods if pod.phase == "Succeeded"]
    failed = [
        pod.finished_at
        for pod in pods
        if is_failed(job, pod) and (not succeeded or pod.finished_at > max(succeeded))
    ]
    if not failed:
        return None
    wait = min(FIRST_BACKOFF * (1 << min(len(failed) - 1, 10)), LONGEST_BACKOFF)
    return max(failed) + wait


def is_past_restarts(job: Obj, pods: Sequence[PodFact]) -> bool:
    """Containers that are restarted in their pod count against the limit, too."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(pod.restarts for pod in pods if pod.phase not in ENDED)
    limit = job["spec"].get("backoffLimit", 6)
    return restarts > 0 if limit == 0 else restarts >= limit
