"""Reconciles CronJobs. Schedules and plans are pure; time is an argument.

cronsim computes the due times of a schedule, including the macros and time zones of Kubernetes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import re2
from cronsim import CronSim, CronSimError

from kubekit.cache.object_cache import OWNER_UID, Cache
from kubekit.client.api_client import Client
from kubekit.client.builtin import CRON_JOBS, JOBS
from kubekit.client.errors import AlreadyExists
from kubekit.controller.reconcile import DONE, Key, RequeueAfter, Result
from kubekit.events.event_recorder import EventRecorder
from kubekit.metadata import controller_reference, has_condition
from kubekit.times import parse_rfc3339, rfc3339_seconds
from picokube.nodeagent.jobs.job_plan import is_finished
from picokube.nodeagent.object_writes import Writer

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re2.compile(r"([0-9.]+)(ms|us|µs|ns|h|m|s)")
MAX_MISSED = 100
"""Missed times are counted up to this number."""
Obj = dict[str, Any]
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
REQUEUE_DELAY = 0.05
"""Seconds until the next pass after creating a Job, which writes the status."""


class BadSchedule(ValueError):
    """A schedule or time zone that can't be parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTimes:
    """The due times of a schedule around the current time."""

    last: datetime | None
    """The last time that is due. None if there is none."""
    missed: int
    next: datetime | None


def due_times(schedule: str, zone: str | None, *, after: datetime, now: datetime) -> DueTimes:
    """The times later than `after` up to `now`, and the next one. Raises BadSchedule."""
    last, missed = None, 0
    for time in _times(schedule, zone, after):
        if time > now:
            return DueTimes(last=last, missed=missed, next=time)
        last, missed = time, missed + 1
        if missed > MAX_MISSED:
            return _latest_times(schedule, zone, last=time, missed=missed, now=now)
    return DueTimes(last=last, missed=missed, next=None)


def _latest_times(schedule: str, zone: str | None, *, last: datetime, missed: int, now: datetime) -> DueTimes:
    """Search backwards from now in growing steps, instead of through every missed time."""
    span = timedelta(minutes=2)
    while now - span > last:
        times: list[datetime] = []
        for time in _times(schedule, zone, now - span):
            if time > now:
                if times:
                    return DueTimes(last=times[-1], missed=missed, next=time)
                break
            times.append(time)
        span *= 4
    return DueTimes(last=last, missed=missed, next=next(_times(schedule, zone, now), None))


def _times(schedule: str, zone: str | None, after: datetime) -> Iterator[datetime]:
    text = schedule.strip()
    if match := re.fullmatch(r"(?:CRON_)?TZ=(\S+)\s+(.*)", text):
        zone, text = match[1], match[2]
    if text.startswith("@every "):
        yield from _intervals(text.removeprefix("@every "), after)
        return
    expression = _MACROS.get(text, text).replace("?", "*")
    try:
        time_zone = ZoneInfo(zone) if zone and zone not in ("UTC", "Local") else UTC
        simulation = CronSim(expression, after.astimezone(time_zone))
    except (CronSimError, KeyError, ValueError, OSError) as error:
        in_zone = f" in time zone {zone}" if zone else ""
        raise BadSchedule(f"invalid schedule {text!r}{in_zone}: {error}") from error
    for time in simulation:
        yield time.astimezone(UTC)


def _intervals(text: str, after: datetime) -> Iterator[datetime]:
    parts = _PART.findall(text)
    seconds = max(sum(float(number) * _UNITS[unit] for number, unit in parts), 1.0)
    if not parts:
        raise BadSchedule(f"invalid schedule '@every {text}': {text!r} is not a duration such as 1h30m")
    step = timedelta(seconds=int(seconds))
    time = after.astimezone(UTC).replace(microsecond=0) + step
    while True:
        yield time
        time += step


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
        status["lastScheduleTime"] = rfc3339_seconds(times.last)
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
    after = parse_rfc3339(last or cron["metadata"]["creationTimestamp"])
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
            ("MissSchedule", f"Missed scheduled time to start a job: {rfc3339_seconds(times.last)}")
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
    owner = controller_reference("batch/v1", "CronJob", meta["name"], meta["uid"])
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
        return rfc3339_seconds(time.astimezone(UTC))
    return time.astimezone(ZoneInfo(zone)).isoformat(timespec="seconds")


def _last_success(old: Obj, jobs: Sequence[Obj]) -> Obj:
    completion_times = [
        job["status"]["completionTime"]
        for job in jobs
        if has_condition(job, "Complete") and job["status"].get("completionTime")
    ]
    latest = max([*completion_times, old.get("lastSuccessfulTime") or ""])
    return {"lastSuccessfulTime": latest} if latest else {}


def _beyond_history_limits(spec: Obj, jobs: Sequence[Obj]) -> list[Obj]:
    surplus: list[Obj] = []
    for kind, name, default in (
        ("Complete", "successfulJobsHistoryLimit", 3),
        ("Failed", "failedJobsHistoryLimit", 1),
    ):
        finished = [job for job in jobs if has_condition(job, kind)]
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


class CronJobController:
    """Reconciles CronJobs."""

    def __init__(
        self, client: Client, crons: Cache, jobs: Cache, events: EventRecorder, *, now: Callable[[], datetime]
    ) -> None:
        self._crons, self._jobs, self._events, self._now = crons, jobs, events, now
        self._writer, self._job_writer = Writer(client, CRON_JOBS, crons), Writer(client, JOBS, jobs)

    async def reconcile(self, key: Key) -> Result:
        cached = self._crons.get(key.namespace, key.name)
        if cached is None:
            return DONE
        cron = cached.decode()
        jobs = [
            item.decode()
            for item in self._jobs.by(OWNER_UID, cached.uid)
            if item.controller and item.controller.uid == cached.uid
        ]
        plan = plan_cron_job(cron, jobs, now=self._now())
        for reason, message in plan.events:
            self._events.record(cron, type="Warning", reason=reason, message=message)
        for job in plan.delete:
            await self._job_writer.delete(job)
        if plan.create is not None:
            try:
                job = await self._job_writer.create(plan.create)
            except AlreadyExists:
                job = plan.create
            message = f"Created job {job['metadata']['name']}"
            self._events.record(cron, type="Normal", reason="SuccessfulCreate", message=message)
        if plan.status is not None:
            await self._writer.replace_status(cron, plan.status)
        if plan.create is not None:
            return RequeueAfter(REQUEUE_DELAY)
        if plan.requeue_at is None:
            return DONE
        return RequeueAfter(max((plan.requeue_at - self._now()).total_seconds(), 0.0) + REQUEUE_DELAY)
