"""What a job needs next: pods to make, delete and release, and its next status. Pure; time is an argument.

Pods that ended are counted once. In the status that ends a job they are counted directly: whoever reads it again only
releases them. Before that, they are first noted by uid, then released, then counted, so that a crash at any point
counts none twice and none never.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from picokube.nodeagent import timestamps
from picokube.nodeagent.conditions import find, is_true, with_condition
from picokube.nodeagent.jobs.indexes import next_indexes, read_indexes, written_indexes
from picokube.nodeagent.jobs.job_facts import (
    PodFact,
    is_failed,
    is_finished,
    is_indexed,
    is_past_restarts,
    is_suspended,
    next_pod_at,
)

Obj = dict[str, Any]

MOST_PODS_AT_ONCE = 500
UNSUPPORTED = ("podFailurePolicy", "successPolicy", "backoffLimitPerIndex", "maxFailedIndexes")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """Actions in the order in which they are done: delete, create, write the status, release."""

    delete: Sequence[PodFact] = ()
    uncounted_deletes: bool = True
    """Deleted pods are released first, so that nobody counts them as failed; those of a failed job do count."""
    create: int = 0
    indexes: Sequence[int] = ()
    """Of an indexed job: one for each pod to make."""
    status: Obj | None = None
    """None where nothing changed."""
    is_urgent: bool = False
    """Somebody waits for this status; others may wait until more has happened."""
    release: Sequence[PodFact] = ()
    """Of which the status no longer needs anything."""
    look_again_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    kind: str
    reason: str
    message: str


def plan_job(job: Obj, pods: Sequence[PodFact], *, now: datetime) -> JobPlan:
    tracked = [pod for pod in pods if pod.is_tracked]
    if is_finished(job) or job["metadata"].get("deletionTimestamp"):
        return JobPlan(release=tracked)
    if job["spec"].get("managedBy") not in (None, "kubernetes.io/job-controller"):
        return JobPlan()
    return _Planner(job, pods, now).plan()


class _Planner:
    def __init__(self, job: Obj, pods: Sequence[PodFact], now: datetime) -> None:
        self._job, self._spec, self._pods, self._now = job, job["spec"], pods, now
        self._old: Obj = job.get("status") or {}
        uncounted = self._old.get("uncountedTerminatedPods") or {}
        self._noted = {kind: list(uncounted.get(kind) or ()) for kind in ("succeeded", "failed")}
        noted = {*self._noted["succeeded"], *self._noted["failed"]}
        fresh = [pod for pod in pods if pod.is_tracked and pod.uid not in noted]
        self._succeeded_now = [pod for pod in fresh if pod.phase == "Succeeded"]
        self._failed_now = [pod for pod in fresh if pod.phase != "Succeeded" and is_failed(job, pod)]
        self._active = [pod for pod in pods if pod.is_active]
        self._terminating = sum(pod.is_terminating for pod in pods)
        self._succeeded = self._total("succeeded", self._succeeded_now)
        self._failed = self._total("failed", self._failed_now)
        self._completed: set[int] = set()
        if is_indexed(job):
            self._completed = self._completed_indexes()
            self._succeeded = len(self._completed)
        self._start_time = self._old.get("startTime") or (None if is_suspended(job) else self._first_start())
        self._look_again_at: datetime | None = None
        self._chosen: tuple[int, ...] = ()

    def plan(self) -> JobPlan:
        verdict = self._verdict()
        if verdict is None:
            delete, create = self._manage()
            delete += [pod for pod in self._surplus() if pod not in delete]
            create = 0 if delete else create
            if is_indexed(self._job):
                self._chosen = self._indexes(create)
                create = len(self._chosen)
        else:
            delete, create = list(self._active), 0
        left = len(self._active) - len(delete) + create
        if verdict is None and create == 0 and left == 0:
            verdict = self._success()
        return self._with_status(verdict, delete, create, left)

    def _completed_indexes(self) -> set[int]:
        done = {pod.index for pod in self._pods if pod.is_tracked and pod.phase == "Succeeded"}
        known = read_indexes(self._old.get("completedIndexes"))
        return known | {index for index in done if index is not None and index < self._spec["completions"]}

    def _surplus(self) -> list[PodFact]:
        """Active pods of an indexed job that do what is done, or what an older one does."""
        if not is_indexed(self._job):
            return []
        taken = set(self._completed)
        found = []
        for pod in sorted(self._active, key=lambda pod: (pod.created, pod.name)):
            if pod.index is None or pod.index in taken or pod.index >= self._spec["completions"]:
                found.append(pod)
            else:
                taken.add(pod.index)
        return found

    def _indexes(self, most: int) -> tuple[int, ...]:
        held = self._pods if self._spec.get("podReplacementPolicy") == "Failed" else self._active
        at_work = [pod for pod in held if pod.is_active or pod.is_terminating]
        busy = {pod.index for pod in at_work if pod.index is not None}
        return next_indexes(self._spec["completions"], {*self._completed, *busy}, most)

    def _total(self, kind: str, new: Sequence[PodFact]) -> int:
        return int(self._old.get(kind) or 0) + len(self._noted[kind]) + len(new)

    def _first_start(self) -> str:
        """The first pod is older than the first status, if the process ended between the two."""
        return min([timestamps.written(self._now), *(pod.created for pod in self._pods if pod.created)])

    def _verdict(self) -> _Verdict | None:
        conditions = self._old.get("conditions")
        if is_true(conditions, "SuccessCriteriaMet"):
            return _success_verdict()
        if (target := find(conditions, "FailureTarget")) is not None and target.get("status") == "True":
            return _Verdict(kind="Failed", reason=target.get("reason", ""), message=target.get("message", ""))
        if refused := self._refused():
            message = f"spec.{refused} is not supported where jobs run as local processes"
            return _Verdict(kind="Failed", reason="UnsupportedField", message=message)
        if self._failed > self._spec.get("backoffLimit", 6) or is_past_restarts(self._job, self._pods):
            message = "Job has reached the specified backoff limit"
            return _Verdict(kind="Failed", reason="BackoffLimitExceeded", message=message)
        deadline = self._spec.get("activeDeadlineSeconds")
        if deadline is None or is_suspended(self._job) or self._start_time is None:
            return None
        end = timestamps.read(self._start_time) + timedelta(seconds=deadline)
        if self._now >= end:
            message = "Job was active longer than specified deadline"
            return _Verdict(kind="Failed", reason="DeadlineExceeded", message=message)
        self._look_again(end)
        return None

    def _refused(self) -> str | None:
        return next((name for name in UNSUPPORTED if self._spec.get(name) is not None), None)

    def _success(self) -> _Verdict | None:
        wanted = self._spec.get("completions")
        enough = self._succeeded > 0 if wanted is None else self._succeeded >= wanted
        return _success_verdict() if enough else None

    def _manage(self) -> tuple[list[PodFact], int]:
        """Pods to delete and how many to make: never both in one pass."""
        active = len(self._active)
        if is_suspended(self._job):
            return list(self._active), 0
        parallelism, completions = self._spec.get("parallelism", 1), self._spec.get("completions")
        if completions is None:
            wanted = active if self._succeeded else parallelism
        else:
            wanted = max(min(completions - self._succeeded, parallelism), 0)
        if active > wanted:
            return _least_done(self._active)[: active - wanted], 0
        held = self._terminating if self._spec.get("podReplacementPolicy") == "Failed" else 0
        missing = min(wanted - held - active, MOST_PODS_AT_ONCE)
        if missing <= 0:
            return [], 0
        due = next_pod_at(self._job, self._pods)
        if due is not None and due > self._now:
            self._look_again(due)
            return [], 0
        return [], missing

    def _look_again(self, at: datetime) -> None:
        self._look_again_at = at if self._look_again_at is None else min(at, self._look_again_at)

    def _with_status(
        self, verdict: _Verdict | None, delete: list[PodFact], create: int, left: int
    ) -> JobPlan:
        terminating = self._terminating + len(delete)
        ready = sum(pod.is_ready for pod in self._active if pod not in delete)
        status: Obj = {**self._old, "active": left, "ready": min(ready, left), "terminating": terminating}
        if self._start_time:
            status["startTime"] = self._start_time
        if self._completed:
            status["completedIndexes"] = written_indexes(self._completed)
        conditions = list(self._old.get("conditions") or ())
        present = {pod.uid for pod in self._pods if pod.is_tracked}
        release: list[PodFact] = []
        is_over = verdict is not None and left == 0 and terminating == 0
        if verdict is not None:
            conditions = self._judged(conditions, verdict, is_over=is_over)
        else:
            conditions = self._suspension(conditions, status)
        if is_over:
            status.setdefault("startTime", self._first_start())
            status |= {"succeeded": self._succeeded, "failed": self._failed, "uncountedTerminatedPods": {}}
            if verdict is not None and verdict.kind == "Complete":
                status["completionTime"] = timestamps.written(self._now)
            release = [pod for pod in self._pods if pod.is_tracked]
        else:
            release = self._count(status, present)
        status["conditions"] = conditions
        status = {key: value for key, value in status.items() if value not in ([], 0, {}) or key in _KEPT}
        changed = _known(status) != _known(self._old)
        return JobPlan(
            delete=delete,
            uncounted_deletes=verdict is None,
            create=create,
            indexes=self._chosen,
            status=status if changed else None,
            is_urgent=verdict is not None
            or conditions != (self._old.get("conditions") or [])
            or bool(status.get("uncountedTerminatedPods")),
            release=release,
            look_again_at=self._look_again_at,
        )

    def _count(self, status: Obj, present: set[str]) -> list[PodFact]:
        """Note what ended, count what was noted and released; what can be released now."""
        uncounted: dict[str, list[str]] = {}
        for kind, new in (("succeeded", self._succeeded_now), ("failed", self._failed_now)):
            waiting = [uid for uid in self._noted[kind] if uid in present]
            status[kind] = int(self._old.get(kind) or 0) + len(self._noted[kind]) - len(waiting)
            if kind == "succeeded" and is_indexed(self._job):
                status[kind] = self._succeeded
            if together := [*waiting, *(pod.uid for pod in new)]:
                uncounted[kind] = together
        status["uncountedTerminatedPods"] = uncounted
        noted = {uid for uids in uncounted.values() for uid in uids}
        return [pod for pod in self._pods if pod.uid in noted and pod.is_tracked]

    def _judged(self, conditions: list[Obj], verdict: _Verdict, *, is_over: bool) -> list[Obj]:
        first = "SuccessCriteriaMet" if verdict.kind == "Complete" else "FailureTarget"
        for kind in (first, verdict.kind) if is_over else (first,):
            conditions = with_condition(
                conditions, self._condition(kind, "True", verdict.reason, verdict.message)
            )
        return conditions

    def _suspension(self, conditions: list[Obj], status: Obj) -> list[Obj]:
        if is_suspended(self._job):
            # A job that goes on starts anew: how long it was active is counted from then.
            status.pop("startTime", None)
            return with_condition(
                conditions, self._condition("Suspended", "True", "JobSuspended", "Job suspended")
            )
        if is_true(conditions, "Suspended"):
            status["startTime"] = timestamps.written(self._now)
            return with_condition(
                conditions, self._condition("Suspended", "False", "JobResumed", "Job resumed")
            )
        return conditions

    def _condition(self, kind: str, state: str, reason: str, message: str) -> Obj:
        now = timestamps.written(self._now)
        times = {"lastProbeTime": now, "lastTransitionTime": now}
        return {"type": kind, "status": state, "reason": reason, "message": message, **times}


_KEPT = ("ready", "terminating", "uncountedTerminatedPods")


def _success_verdict() -> _Verdict:
    message = "Reached expected number of succeeded pods"
    return _Verdict(kind="Complete", reason="CompletionsReached", message=message)


def _least_done(pods: Sequence[PodFact]) -> list[PodFact]:
    """Those that lose least: not running before running, not ready before ready, younger before older."""
    by_age = sorted(pods, key=lambda pod: (pod.created, pod.name), reverse=True)
    return sorted(by_age, key=lambda pod: (pod.phase == "Running", pod.is_ready))


def _known(status: Obj) -> Obj:
    """Without the times of conditions, and with what is left out counted as nothing."""
    conditions = [
        {key: value for key, value in each.items() if key not in ("lastProbeTime", "lastTransitionTime")}
        for each in status.get("conditions") or ()
    ]
    rest = {
        key: value for key, value in status.items() if key != "conditions" and value not in (0, {}, [], None)
    }
    return rest | {"conditions": conditions}
