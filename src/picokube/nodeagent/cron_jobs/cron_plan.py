"""Plans the next actions of a CronJob: the Job to create, Jobs to delete and the status. Pure; time is an argument."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from picokube.nodeagent import timestamps
from picokube.nodeagent.conditions import is_true
from picokube.nodeagent.cron_jobs.schedule import MAX_MISSED, BadSchedule, DueTimes, due_times
from picokube.nodeagent.jobs.job_state import is_finished

Obj = dict[str, Any]

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class CronPlan:
    """Actions in order of execution: delete, create, write the status."""

    delete: Sequence[Obj] = ()
    create: Obj | None = None
    status: Obj | None = None
    events: Sequence[tuple[str, str]] = ()
    """Reason and message."""
    requeue_at: datetime | None = None


def plan_cron_job(cron: Obj, jobs: Sequence[Obj], *, now: datetime) -> CronPlan:
    """The plan for a CronJob and all `jobs` that it controls."""
    spec, old = cron["spec"], cron.get("status") or {}
    active = [job for job in jobs if not is_finished(job)]
    status: Obj = {key: value for key, value in old.items() if key != "active"}
    status |= _last_success(old, jobs)
    delete = _beyond_history_limits(spec, jobs)
    if cron["metadata"].get("deletionTimestamp") or spec.get("suspend"):
        return CronPlan(delete=delete, status=_changed_status(old, status, active))
    try:
        times = due_times(spec["schedule"], spec.get("timeZone"), after=_earliest_time(cron, now), now=now)
    except BadSchedule as error:
        return CronPlan(
            delete=delete,
            status=_changed_status(old, status, active),
            events=[("InvalidSchedule", str(error))],
        )
    events: list[tuple[str, str]] = []
    create = _job_to_create(cron, times, active, now, events)
    if create is not None and spec.get("concurrencyPolicy") == "Replace":
        delete = [*delete, *active]
        active = []
    if create is not None and times.last is not None:
        status["lastScheduleTime"] = timestamps.format_time(times.last)
    return CronPlan(
        delete=delete,
        create=create,
        status=_changed_status(old, status, active),
        events=events,
        requeue_at=times.next,
    )


def _earliest_time(cron: Obj, now: datetime) -> datetime:
    """Times after this one may still be started."""
    last = (cron.get("status") or {}).get("lastScheduleTime")
    after = timestamps.parse_time(last or cron["metadata"]["creationTimestamp"])
    deadline = cron["spec"].get("startingDeadlineSeconds")
    return after if deadline is None else max(after, now - timedelta(seconds=deadline))


def _job_to_create(
    cron: Obj, times: DueTimes, active: Sequence[Obj], now: datetime, events: list[tuple[str, str]]
) -> Obj | None:
    spec = cron["spec"]
    if times.last is None:
        return None
    if times.missed > MAX_MISSED:
        message = (
            f"too many missed start times: {times.missed} or more. Set or decrease startingDeadlineSeconds"
        )
        events.append(("TooManyMissedTimes", message))
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None and now > times.last + timedelta(seconds=deadline):
        events.append(
            ("MissSchedule", f"Missed scheduled time to start a job: {timestamps.format_time(times.last)}")
        )
        return None
    if spec.get("concurrencyPolicy") == "Forbid" and active:
        events.append(("JobAlreadyActive", "Not starting job because prior execution is running"))
        return None
    job = build_job(cron, times.last)
    if any(item["metadata"]["name"] == job["metadata"]["name"] for item in active):
        return None
    return job


def build_job(cron: Obj, scheduled_at: datetime) -> Obj:
    """The Job for a scheduled time. Its name contains the time, so a repeated create can't add a Job."""
    meta, template = cron["metadata"], deepcopy(cron["spec"]["jobTemplate"])
    template_meta = template.get("metadata") or {}
    zone = cron["spec"].get("timeZone")
    annotations = {**(template_meta.get("annotations") or {}), SCHEDULED_AT: _local_time(scheduled_at, zone)}
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{meta['name']}-{int(scheduled_at.timestamp()) // 60}",
            "namespace": meta["namespace"],
            "labels": template_meta.get("labels") or {},
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }


def _local_time(time: datetime, zone: str | None) -> str:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - needed for named zones only

    if not zone or zone in ("UTC", "Local"):
        return timestamps.format_time(time.astimezone(UTC))
    return time.astimezone(ZoneInfo(zone)).isoformat(timespec="seconds")


def _last_success(old: Obj, jobs: Sequence[Obj]) -> Obj:
    completion_times = [
        job["status"]["completionTime"]
        for job in jobs
        if is_true((job.get("status") or {}).get("conditions"), "Complete")
        and job["status"].get("completionTime")
    ]
    latest = max([*completion_times, old.get("lastSuccessfulTime") or ""])
    return {"lastSuccessfulTime": latest} if latest else {}


def _beyond_history_limits(spec: Obj, jobs: Sequence[Obj]) -> list[Obj]:
    surplus: list[Obj] = []
    for kind, name, default in (
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ):
        finished = [job for job in jobs if is_true((job.get("status") or {}).get("conditions"), kind)]
        finished = [job for job in finished if not job["metadata"].get("deletionTimestamp")]
        finished.sort(key=lambda job: (job["status"].get("startTime") or "", job["metadata"]["name"]))
        limit = spec.get(name, default)
        surplus += finished[: len(finished) - limit] if len(finished) > limit else []
    return surplus


def _changed_status(old: Obj, status: Obj, active: Sequence[Obj]) -> Obj | None:
    """The status with references to the active Jobs. None if it equals the old one."""
    references = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "namespace": job["metadata"]["namespace"],
            "name": job["metadata"]["name"],
            "uid": job["metadata"]["uid"],
        }
        for job in sorted(active, key=lambda job: str(job["metadata"]["name"]))
    ]
    new = {**status, "active": references} if references else status
    known = {
        **old,
        **(
            {
                "active": [
                    {key: item.get(key) for key in ("apiVersion", "kind", "namespace", "name", "uid")}
                    for item in sorted(old["active"], key=lambda item: str(item.get("name")))
                ]
            }
            if old.get("active")
            else {}
        ),
    }
    return new if new != known else None
