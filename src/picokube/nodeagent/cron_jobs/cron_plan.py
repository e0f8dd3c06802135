"""What a CronJob needs next: a job to make, jobs to delete, its status. Pure; time is an argument."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from picokube.nodeagent import timestamps
from picokube.nodeagent.conditions import is_true
from picokube.nodeagent.cron_jobs.schedule import MOST_MISSED, BadSchedule, Due, due
from picokube.nodeagent.jobs.job_facts import is_finished

Obj = dict[str, Any]

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


@dataclass(frozen=True, slots=True, kw_only=True)
class CronPlan:
    """Jobs to delete come first, then the new one, then the status."""

    delete: Sequence[Obj] = ()
    create: Obj | None = None
    status: Obj | None = None
    events: Sequence[tuple[str, str]] = ()
    """Reason and message."""
    look_again_at: datetime | None = None


def plan_cron_job(cron: Obj, jobs: Sequence[Obj], *, now: datetime) -> CronPlan:
    """`jobs` are all that the CronJob controls."""
    spec, old = cron["spec"], cron.get("status") or {}
    active = [job for job in jobs if not is_finished(job)]
    status: Obj = {key: value for key, value in old.items() if key != "active"}
    status |= _last_success(old, jobs)
    delete = _beyond_limits(spec, jobs)
    if cron["metadata"].get("deletionTimestamp") or spec.get("suspend"):
        return CronPlan(delete=delete, status=_changed(old, status, active))
    try:
        found = due(spec["schedule"], spec.get("timeZone"), after=_after(cron, now), now=now)
    except BadSchedule as error:
        return CronPlan(
            delete=delete, status=_changed(old, status, active), events=[("InvalidSchedule", str(error))]
        )
    events: list[tuple[str, str]] = []
    create = _wanted(cron, found, active, now, events)
    if create is not None and spec.get("concurrencyPolicy") == "Replace":
        delete = [*delete, *active]
        active = []
    if create is not None and found.last is not None:
        status["lastScheduleTime"] = timestamps.written(found.last)
    return CronPlan(
        delete=delete,
        create=create,
        status=_changed(old, status, active),
        events=events,
        look_again_at=found.next,
    )


def _after(cron: Obj, now: datetime) -> datetime:
    last = (cron.get("status") or {}).get("lastScheduleTime")
    after = timestamps.read(last or cron["metadata"]["creationTimestamp"])
    deadline = cron["spec"].get("startingDeadlineSeconds")
    return after if deadline is None else max(after, now - timedelta(seconds=deadline))


def _wanted(
    cron: Obj, found: Due, active: Sequence[Obj], now: datetime, events: list[tuple[str, str]]
) -> Obj | None:
    spec = cron["spec"]
    if found.last is None:
        return None
    if found.missed > MOST_MISSED:
        message = (
            f"too many missed start times: {found.missed} or more. Set or decrease startingDeadlineSeconds"
        )
        events.append(("TooManyMissedTimes", message))
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None and now > found.last + timedelta(seconds=deadline):
        events.append(
            ("MissSchedule", f"Missed scheduled time to start a job: {timestamps.written(found.last)}")
        )
        return None
    if spec.get("concurrencyPolicy") == "Forbid" and active:
        events.append(("JobAlreadyActive", "Not starting job because prior execution is running"))
        return None
    job = job_at(cron, found.last)
    if any(each["metadata"]["name"] == job["metadata"]["name"] for each in active):
        return None
    return job


def job_at(cron: Obj, moment: datetime) -> Obj:
    """The job of one time: its name says which, so that it is made once."""
    meta, template = cron["metadata"], deepcopy(cron["spec"]["jobTemplate"])
    given = template.get("metadata") or {}
    zone = cron["spec"].get("timeZone")
    annotations = {**(given.get("annotations") or {}), SCHEDULED_AT: _local(moment, zone)}
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
            "name": f"{meta['name']}-{int(moment.timestamp()) // 60}",
            "namespace": meta["namespace"],
            "labels": given.get("labels") or {},
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }


def _local(moment: datetime, zone: str | None) -> str:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - needed for named zones only

    if not zone or zone in ("UTC", "Local"):
        return timestamps.written(moment.astimezone(UTC))
    return moment.astimezone(ZoneInfo(zone)).isoformat(timespec="seconds")


def _last_success(old: Obj, jobs: Sequence[Obj]) -> Obj:
    ends = [
        job["status"]["completionTime"]
        for job in jobs
        if is_true((job.get("status") or {}).get("conditions"), "Complete")
        and job["status"].get("completionTime")
    ]
    latest = max([*ends, old.get("lastSuccessfulTime") or ""])
    return {"lastSuccessfulTime": latest} if latest else {}


def _beyond_limits(spec: Obj, jobs: Sequence[Obj]) -> list[Obj]:
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


def _changed(old: Obj, status: Obj, active: Sequence[Obj]) -> Obj | None:
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
                    {key: each.get(key) for key in ("apiVersion", "kind", "namespace", "name", "uid")}
                    for each in sorted(old["active"], key=lambda each: str(each.get("name")))
                ]
            }
            if old.get("active")
            else {}
        ),
    }
    return new if new != known else None
