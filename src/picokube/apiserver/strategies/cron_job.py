"""Cron jobs."""

import re
from typing import Any, Final

from picokube.apiserver.strategies.checks import (
    Json,
    JsonObject,
    invalid,
    non_negative,
    not_supported,
    one_of,
    required,
)
from picokube.apiserver.strategies.cron_schedule import is_time_zone, schedule_problem
from picokube.apiserver.strategies.job import default_job_template
from picokube.apiserver.strategies.job_spec import job_spec_problems
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pod import dns_label_advice
from picokube.apiserver.strategies.printing import NONE, age, containers_and_images, created, selector
from picokube.schema import FieldError

_LONGEST: Final = 52
_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


class CronJob(Kind):
    """A cron job."""

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        spec.setdefault("concurrencyPolicy", "Allow")
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        default_job_template(spec["jobTemplate"].setdefault("spec", {}))

    def problems(self, obj: Json) -> list[FieldError]:
        problems = _spec_problems(obj["spec"], None)
        name = obj["metadata"].get("name", "")
        if len(name) > _LONGEST:
            problems.append(invalid("metadata.name", name, f"must be no more than {_LONGEST} characters"))
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return _spec_problems(obj["spec"], old["spec"])

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        found: list[str] = []
        if old is None and (problems := dns_label_advice(obj["metadata"].get("name", ""))):
            found.append(
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a "
                f"DNS label is recommended: [{' '.join(problems)}]"
            )
        if "TZ" in obj["spec"].get("schedule", ""):
            found.append(
                "CRON_TZ or TZ used in spec.schedule is not officially supported, see https://kubernetes.io/docs/concepts/"
                "workloads/controllers/cron-jobs/ for more details"
            )
        return found

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        jobs = (spec.get("jobTemplate") or {}).get("spec") or {}
        last = status.get("lastScheduleTime")
        return [
            spec.get("schedule", ""),
            spec.get("timeZone", NONE),
            "True" if spec.get("suspend") else "False",
            len(status.get("active") or ()),
            age(last) if last else NONE,
            created(obj),
            *containers_and_images(jobs.get("template") or {}),
            selector(jobs.get("selector")),
        ]


def _spec_problems(spec: Json, old: Json | None) -> list[FieldError]:
    problems = _schedule_problems(
        spec.get("schedule", ""), may_name_zone="TZ" in (old or {}).get("schedule", "")
    )
    problems += non_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if old is None or old.get("timeZone") != spec.get("timeZone"):
        problems += _zone_problems(spec.get("timeZone"))
    problems += one_of(
        "spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace")
    )
    jobs = spec["jobTemplate"].get("spec") or {}
    problems += job_spec_problems("spec.jobTemplate.spec", jobs)
    place = "spec.jobTemplate.spec"
    if jobs.get("selector") is not None:
        problems.append(invalid(f"{place}.selector", jobs["selector"], "`selector` will be auto-generated"))
    if jobs.get("manualSelector"):
        problems.append(not_supported(f"{place}.manualSelector", True, ("nil", "false")))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        problems += non_negative(f"spec.{name}", spec.get(name))
    return problems


def _schedule_problems(schedule: str, *, may_name_zone: bool) -> list[FieldError]:
    if not schedule:
        return [required("spec.schedule")]
    problem = schedule_problem(schedule)
    problems = [invalid("spec.schedule", schedule, problem)] if problem else []
    if "TZ" in schedule and not may_name_zone:
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        problems.append(invalid("spec.schedule", schedule, detail))
    return problems


def _zone_problems(zone: str | None) -> list[FieldError]:
    if zone is None:
        return []
    if not zone:
        return [invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    unknown = invalid("spec.timeZone", zone, f"unknown time zone {zone}")
    if any(
        part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part)
        for part in zone.split("/")
    ):
        return [unknown]
    problems: list[FieldError] = []
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        problems.append(invalid("spec.timeZone", zone, detail))
    return problems if is_time_zone(zone) else [*problems, unknown]
