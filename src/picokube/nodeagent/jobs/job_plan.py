"""Plans the next actions of a Job: pods to create, delete and release, and the next status. Pure; time is an argument.

Each finished pod is counted once. In a running Job, a pod is first added to `uncountedTerminatedPods`, then its
finalizer is removed, then it is counted. A crash at any point neither double-counts nor loses a pod. The final status
of a Job counts pods directly, because later passes only remove finalizers.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from kubekit.metadata import find_condition, has_condition, is_condition_true, with_condition
from kubekit.times import parse_rfc3339, rfc3339_seconds
from picokube.nodeagent.object_writes import TERMINAL_PHASES

INDEX = "batch.kubernetes.io/job-completion-index"
"""Annotation and label with the index of a pod."""
Obj = dict[str, Any]
TRACKING = "batch.kubernetes.io/job-tracking"
UNCOUNTED = "node-agent/uncounted"
"""Annotation of a pod that is stopping, doesn't count as failed, and isn't deleted yet."""
FIRST_BACKOFF = timedelta(seconds=10)
MAX_BACKOFF = timedelta(minutes=10)
MAX_PODS_AT_ONCE = 500
UNSUPPORTED = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes")
_KEEP_IF_EMPTY = ("ready", "terminating", "uncountedTerminatedPods")


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
        is_ready=is_condition_true(status.get("conditions"), "Ready"),
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
    ready = find_condition(status.get("conditions"), "Ready")
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
    return has_condition(job, "Complete") or has_condition(job, "Failed")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """Actions in order of execution: delete, create, write the status, release."""

    delete: Sequence[PodSummary] = ()
    uncounted_deletes: bool = True
    """Release deleted pods first to not count them as failed. Pods of a failed Job do count."""
    create: int = 0
    indexes: Sequence[int] = ()
    """For an Indexed Job, the completion index of each pod to create."""
    status: Obj | None = None
    """None if nothing changed."""
    is_urgent: bool = False
    """Write the status now. Otherwise, the write may be delayed and combined with later changes."""
    release: Sequence[PodSummary] = ()
    """Pods whose tracking finalizer can be removed."""
    requeue_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    """The final condition of a Job: `kind` is Complete or Failed."""

    kind: str
    reason: str
    message: str


def plan_job(job: Obj, pods: Sequence[PodSummary], *, now: datetime) -> JobPlan:
    tracked = [pod for pod in pods if pod.is_tracked]
    if is_finished(job) or job["metadata"].get("deletionTimestamp"):
        return JobPlan(release=tracked)
    if job["spec"].get("managedBy") not in (None, "kubernetes.io/job-controller"):
        return JobPlan()
    return _Planner(job, pods, now).plan()


class _Planner:
    def __init__(self, job: Obj, pods: Sequence[PodSummary], now: datetime) -> None:
        self._job, self._spec, self._pods, self._now = job, job["spec"], pods, now
        self._old: Obj = job.get("status") or {}
        uncounted = self._old.get("uncountedTerminatedPods") or {}
        self._uncounted = {kind: list(uncounted.get(kind) or ()) for kind in ("succeeded", "failed")}
        known = {*self._uncounted["succeeded"], *self._uncounted["failed"]}
        new = [pod for pod in pods if pod.is_tracked and pod.uid not in known]
        self._newly_succeeded = [pod for pod in new if pod.phase == "Succeeded"]
        self._newly_failed = [pod for pod in new if pod.phase != "Succeeded" and is_failed(job, pod)]
        self._active = [pod for pod in pods if pod.is_active]
        self._terminating = sum(pod.is_terminating for pod in pods)
        self._succeeded = self._total("succeeded", self._newly_succeeded)
        self._failed = self._total("failed", self._newly_failed)
        self._completed: set[int] = set()
        if is_indexed(job):
            self._completed = self._completed_indexes()
            self._succeeded = len(self._completed)
        self._start_time = self._old.get("startTime") or (None if is_suspended(job) else self._first_start())
        self._requeue_at: datetime | None = None
        self._new_indexes: tuple[int, ...] = ()

    def plan(self) -> JobPlan:
        verdict = self._verdict()
        if verdict is None:
            delete, create = self._scale()
            delete += [pod for pod in self._duplicates() if pod not in delete]
            create = 0 if delete else create
            if is_indexed(self._job):
                self._new_indexes = self._choose_indexes(create)
                create = len(self._new_indexes)
        else:
            delete, create = list(self._active), 0
        active = len(self._active) - len(delete) + create
        if verdict is None and create == 0 and active == 0:
            verdict = self._success()
        return self._with_status(verdict, delete, create, active)

    def _completed_indexes(self) -> set[int]:
        new = {pod.index for pod in self._pods if pod.is_tracked and pod.phase == "Succeeded"}
        known = parse_indexes(self._old.get("completedIndexes"))
        return known | {index for index in new if index is not None and index < self._spec["completions"]}

    def _duplicates(self) -> list[PodSummary]:
        """Active pods of an Indexed Job whose index is completed, invalid or used by an older pod."""
        if not is_indexed(self._job):
            return []
        used = set(self._completed)
        duplicates = []
        for pod in sorted(self._active, key=lambda pod: (pod.created, pod.name)):
            if pod.index is None or pod.index in used or pod.index >= self._spec["completions"]:
                duplicates.append(pod)
            else:
                used.add(pod.index)
        return duplicates

    def _choose_indexes(self, limit: int) -> tuple[int, ...]:
        candidates = self._pods if self._spec.get("podReplacementPolicy") == "Failed" else self._active
        unfinished = [pod for pod in candidates if pod.is_active or pod.is_terminating]
        used = {pod.index for pod in unfinished if pod.index is not None}
        return next_indexes(self._spec["completions"], {*self._completed, *used}, limit)

    def _total(self, kind: str, new: Sequence[PodSummary]) -> int:
        return int(self._old.get(kind) or 0) + len(self._uncounted[kind]) + len(new)

    def _first_start(self) -> str:
        """Now, or the creation of the first pod if a crash prevented the first status write."""
        return min([rfc3339_seconds(self._now), *(pod.created for pod in self._pods if pod.created)])

    def _verdict(self) -> _Verdict | None:
        conditions = self._old.get("conditions")
        if is_condition_true(conditions, "SuccessCriteriaMet"):
            return _success_verdict()
        if (target := find_condition(conditions, "FailureTarget")) is not None and target.get(
            "status"
        ) == "True":
            return _Verdict(kind="Failed", reason=target.get("reason", ""), message=target.get("message", ""))
        if unsupported := next((name for name in UNSUPPORTED if self._spec.get(name) is not None), None):
            message = f"spec.{unsupported} is not supported when Jobs run as local processes"
            return _Verdict(kind="Failed", reason="UnsupportedField", message=message)
        if self._failed > self._spec.get("backoffLimit", 6) or exceeds_restart_limit(self._job, self._pods):
            message = "Job has reached the specified backoff limit"
            return _Verdict(kind="Failed", reason="BackoffLimitExceeded", message=message)
        deadline = self._spec.get("activeDeadlineSeconds")
        if deadline is None or is_suspended(self._job) or self._start_time is None:
            return None
        end = parse_rfc3339(self._start_time) + timedelta(seconds=deadline)
        if self._now >= end:
            message = "Job was active longer than specified deadline"
            return _Verdict(kind="Failed", reason="DeadlineExceeded", message=message)
        self._request_requeue(end)
        return None

    def _success(self) -> _Verdict | None:
        completions = self._spec.get("completions")
        is_complete = self._succeeded > 0 if completions is None else self._succeeded >= completions
        return _success_verdict() if is_complete else None

    def _scale(self) -> tuple[list[PodSummary], int]:
        """Pods to delete and the number of pods to create; never both in one pass."""
        active = len(self._active)
        if is_suspended(self._job):
            return list(self._active), 0
        parallelism, completions = self._spec.get("parallelism", 1), self._spec.get("completions")
        if completions is None:
            desired = active if self._succeeded else parallelism
        else:
            desired = max(min(completions - self._succeeded, parallelism), 0)
        if active > desired:
            return _by_deletion_priority(self._active)[: active - desired], 0
        terminating = self._terminating if self._spec.get("podReplacementPolicy") == "Failed" else 0
        missing = min(desired - terminating - active, MAX_PODS_AT_ONCE)
        if missing <= 0:
            return [], 0
        backoff_end = next_pod_at(self._job, self._pods)
        if backoff_end is not None and backoff_end > self._now:
            self._request_requeue(backoff_end)
            return [], 0
        return [], missing

    def _request_requeue(self, at: datetime) -> None:
        self._requeue_at = at if self._requeue_at is None else min(at, self._requeue_at)

    def _with_status(
        self, verdict: _Verdict | None, delete: list[PodSummary], create: int, active: int
    ) -> JobPlan:
        terminating = self._terminating + len(delete)
        ready = sum(pod.is_ready for pod in self._active if pod not in delete)
        status: Obj = {**self._old, "active": active, "ready": min(ready, active), "terminating": terminating}
        if self._start_time:
            status["startTime"] = self._start_time
        if self._completed:
            status["completedIndexes"] = format_indexes(self._completed)
        conditions = list(self._old.get("conditions") or ())
        present = {pod.uid for pod in self._pods if pod.is_tracked}
        release: list[PodSummary] = []
        is_final = verdict is not None and active == 0 and terminating == 0
        if verdict is not None:
            conditions = self._with_verdict(conditions, verdict, is_final=is_final)
        else:
            conditions = self._with_suspension(conditions, status)
        if is_final:
            status.setdefault("startTime", self._first_start())
            status |= {"succeeded": self._succeeded, "failed": self._failed, "uncountedTerminatedPods": {}}
            if verdict is not None and verdict.kind == "Complete":
                status["completionTime"] = rfc3339_seconds(self._now)
            release = [pod for pod in self._pods if pod.is_tracked]
        else:
            release = self._count(status, present)
        status["conditions"] = conditions
        status = {
            key: value for key, value in status.items() if value not in ([], 0, {}) or key in _KEEP_IF_EMPTY
        }
        changed = _comparable(status) != _comparable(self._old)
        return JobPlan(
            delete=delete,
            uncounted_deletes=verdict is None,
            create=create,
            indexes=self._new_indexes,
            status=status if changed else None,
            is_urgent=verdict is not None
            or conditions != (self._old.get("conditions") or [])
            or bool(status.get("uncountedTerminatedPods")),
            release=release,
            requeue_at=self._requeue_at,
        )

    def _count(self, status: Obj, present: set[str]) -> list[PodSummary]:
        """Count released pods and add finished ones to `uncountedTerminatedPods`. Returns the pods to release."""
        uncounted: dict[str, list[str]] = {}
        for kind, new in (("succeeded", self._newly_succeeded), ("failed", self._newly_failed)):
            unreleased = [uid for uid in self._uncounted[kind] if uid in present]
            status[kind] = int(self._old.get(kind) or 0) + len(self._uncounted[kind]) - len(unreleased)
            if kind == "succeeded" and is_indexed(self._job):
                status[kind] = self._succeeded
            if uids := [*unreleased, *(pod.uid for pod in new)]:
                uncounted[kind] = uids
        status["uncountedTerminatedPods"] = uncounted
        uncounted_uids = {uid for uids in uncounted.values() for uid in uids}
        return [pod for pod in self._pods if pod.uid in uncounted_uids and pod.is_tracked]

    def _with_verdict(self, conditions: list[Obj], verdict: _Verdict, *, is_final: bool) -> list[Obj]:
        first = "SuccessCriteriaMet" if verdict.kind == "Complete" else "FailureTarget"
        for kind in (first, verdict.kind) if is_final else (first,):
            conditions = with_condition(
                conditions, self._condition(kind, "True", verdict.reason, verdict.message)
            )
        return conditions

    def _with_suspension(self, conditions: list[Obj], status: Obj) -> list[Obj]:
        if is_suspended(self._job):
            # The active deadline restarts when the Job is resumed.
            status.pop("startTime", None)
            return with_condition(
                conditions, self._condition("Suspended", "True", "JobSuspended", "Job suspended")
            )
        if is_condition_true(conditions, "Suspended"):
            status["startTime"] = rfc3339_seconds(self._now)
            return with_condition(
                conditions, self._condition("Suspended", "False", "JobResumed", "Job resumed")
            )
        return conditions

    def _condition(self, kind: str, state: str, reason: str, message: str) -> Obj:
        now = rfc3339_seconds(self._now)
        times = {"lastProbeTime": now, "lastTransitionTime": now}
        return {"type": kind, "status": state, "reason": reason, "message": message, **times}


def _success_verdict() -> _Verdict:
    message = "Reached expected number of succeeded pods"
    return _Verdict(kind="Complete", reason="CompletionsReached", message=message)


def _by_deletion_priority(pods: Sequence[PodSummary]) -> list[PodSummary]:
    """Pods to delete first come first: not running before running, not ready before ready, younger before older."""
    by_age = sorted(pods, key=lambda pod: (pod.created, pod.name), reverse=True)
    return sorted(by_age, key=lambda pod: (pod.phase == "Running", pod.is_ready))


def _comparable(status: Obj) -> Obj:
    """The status without condition timestamps and empty fields."""
    conditions = [
        {key: value for key, value in condition.items() if key not in ("lastProbeTime", "lastTransitionTime")}
        for condition in status.get("conditions") or ()
    ]
    rest = {
        key: value for key, value in status.items() if key != "conditions" and value not in (0, {}, [], None)
    }
    return rest | {"conditions": conditions}
