"""The state of a Job and its pods: phases, restarts, backoff, suspension, expiry and completion indexes. Pure."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from kubekit.times import parse_rfc3339
from picokube.nodeagent.object_writes import TERMINAL_PHASES, find, is_true

INDEX = "batch.kubernetes.io/job-completion-index"
"""Annotation and label with the index of a pod."""


def parse_indexes(text: str | None) -> set[int]:
    indexes: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first:
            indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def format_indexes(indexes: Iterable[int]) -> str:
    """Consecutive indexes as a range: `0,2-3,5-7`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def next_indexes(completions: int, used: Container[int], limit: int) -> tuple[int, ...]:
    """Up to `limit` of the lowest unused indexes."""
    return tuple(islice((index for index in range(completions) if index not in used), limit))


Obj = dict[str, Any]

TRACKING = "batch.kubernetes.io/job-tracking"
UNCOUNTED = "node-agent/uncounted"
"""Annotation of a pod that is stopping, doesn't count as failed, and isn't deleted yet."""
FIRST_BACKOFF = timedelta(seconds=10)
MAX_BACKOFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSummary:
    """What the Job controller needs to know about a pod."""

    name: str
    uid: str
    phase: str
    created: str
    is_deleted: bool
    is_tracked: bool
    is_ready: bool
    restarts: int
    finished_at: datetime
    index: int | None = None
    """Completion index of the pod, if the Job is Indexed."""

    @property
    def is_active(self) -> bool:
        return self.phase not in TERMINAL_PHASES and not self.is_deleted

    @property
    def is_terminating(self) -> bool:
        return self.phase not in TERMINAL_PHASES and self.is_deleted


def summarize_pod(pod: Obj) -> PodSummary:
    meta, status = pod["metadata"], pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return PodSummary(
        name=meta["name"],
        uid=meta["uid"],
        phase=status.get("phase", "Pending"),
        created=meta.get("creationTimestamp", ""),
        is_deleted=bool(meta.get("deletionTimestamp")),
        is_tracked=TRACKING in (meta.get("finalizers") or ()),
        is_ready=is_true(status.get("conditions"), "Ready"),
        restarts=sum(item.get("restartCount", 0) for item in statuses),
        finished_at=_finished_at(meta, status),
        index=_index((meta.get("annotations") or {}).get(INDEX)),
    )


def _index(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _finished_at(meta: Obj, status: Obj) -> datetime:
    ends = [
        ((container_status.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for container_status in status.get("containerStatuses") or ()
    ]
    if ends and all(ends):
        return max(parse_rfc3339(end) for end in ends if end)
    ready = find(status.get("conditions"), "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return parse_rfc3339(ready["lastTransitionTime"])
    if deleted := meta.get("deletionTimestamp"):
        return parse_rfc3339(deleted) - timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
    return parse_rfc3339(meta["creationTimestamp"])


def is_failed(job: Obj, pod: PodSummary) -> bool:
    """Whether a pod counts as failed. A terminating pod does, unless `podReplacementPolicy` is Failed."""
    if pod.phase == "Failed":
        return True
    if job["spec"].get("podReplacementPolicy") == "Failed":
        return False
    return pod.is_terminating


def is_finished(job: Obj) -> bool:
    conditions = (job.get("status") or {}).get("conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def expires_at(job: Obj) -> datetime | None:
    """When `ttlSecondsAfterFinished` ends. None for an unfinished Job or one without a TTL."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    if seconds is None:
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return parse_rfc3339(condition["lastTransitionTime"]) + timedelta(seconds=seconds)
    return None


def is_indexed(job: Obj) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_suspended(job: Obj) -> bool:
    return bool(job["spec"].get("suspend"))


def next_pod_at(job: Obj, pods: Sequence[PodSummary]) -> datetime | None:
    """When the backoff ends that doubles with each failure since the last success. None without failures."""
    succeeded = [pod.finished_at for pod in pods if pod.phase == "Succeeded"]
    failed = [
        pod.finished_at
        for pod in pods
        if is_failed(job, pod) and (not succeeded or pod.finished_at > max(succeeded))
    ]
    if not failed:
        return None
    backoff = min(FIRST_BACKOFF * (1 << min(len(failed) - 1, 10)), MAX_BACKOFF)
    return max(failed) + backoff


def exceeds_restart_limit(job: Obj, pods: Sequence[PodSummary]) -> bool:
    """Whether container restarts exceed `backoffLimit`; they count with `restartPolicy: OnFailure`."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(pod.restarts for pod in pods if pod.phase not in TERMINAL_PHASES)
    limit = job["spec"].get("backoffLimit", 6)
    return restarts > 0 if limit == 0 else restarts >= limit
