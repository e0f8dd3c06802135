"""CronJobs, and the validation of cron schedules with the messages of the library that Kubernetes uses."""

import re
from typing import Any, Final
from zoneinfo import available_timezones

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    check,
    invalid,
    non_negative,
    not_supported,
    one_of,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pods.pod import dns_label_warnings
from picokube.apiserver.strategies.printing import NONE, age, containers_and_images, created, selector
from picokube.apiserver.strategies.workloads.job import default_job_template
from picokube.apiserver.strategies.workloads.job_spec import job_spec_problems

_DESCRIPTORS: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_MONTHS: Final = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11,
    "dec": 12,
}  # fmt: skip
_DAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_DURATION: Final = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S*)\s*(.*)", re.DOTALL)


class BadSchedule(ValueError):
    """The message of the parser."""


def schedule_problem(text: str) -> str | None:
    """What is wrong with a schedule, or None."""
    try:
        _check(text)
    except BadSchedule as error:
        return str(error)
    return None


def is_time_zone(name: str) -> bool:
    return name in ("UTC", "Local") or name in available_timezones()


def _check(text: str) -> None:
    if not text:
        raise BadSchedule("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        found = _ZONE.fullmatch(text)
        zone, text = (found[1], found[2]) if found else ("", "")
        if not is_time_zone(zone):
            raise BadSchedule(f"provided bad location {zone}: unknown time zone {zone}")
    if text.startswith("@"):
        _check_descriptor(text)
        return
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise BadSchedule(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    for part, (least, most, names) in zip(parts, _FIELDS, strict=True):
        for term in part.split(","):
            if term:
                _check_range(term, least, most, names)


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise BadSchedule(f"unrecognized descriptor: {text}")
    wanted = text.removeprefix("@every ")
    if not _DURATION.fullmatch(wanted):
        raise BadSchedule(f'failed to parse duration {text}: time: invalid duration "{wanted}"')


def _check_range(text: str, least: int, most: int, names: dict[str, int]) -> None:
    span, *steps = text.split("/")
    low, *highs = span.split("-")
    is_single = not highs
    if low in ("*", "?"):
        start, end = least, most
    else:
        start = _number(low, names)
        if len(highs) > 1:
            raise BadSchedule(f"too many hyphens: {text}")
        end = _number(highs[0], names) if highs else start
    if len(steps) > 1:
        raise BadSchedule(f"too many slashes: {text}")
    step = _plain_number(steps[0]) if steps else 1
    if steps and is_single:
        end = most
    if start < least:
        raise BadSchedule(f"beginning of range ({start}) below minimum ({least}): {text}")
    if end > most:
        raise BadSchedule(f"end of range ({end}) above maximum ({most}): {text}")
    if start > end:
        raise BadSchedule(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else _plain_number(text)


def _plain_number(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise BadSchedule(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    if int(text) < 0:
        raise BadSchedule(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


_MAX_NAME_LENGTH: Final = 52
_ZONE_WARNING: Final = (
    "CRON_TZ or TZ used in spec.schedule is not officially supported, see https://kubernetes.io/docs/concepts/workloads/"
    "controllers/cron-jobs/ for more details"
)
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

    def problems(self, obj: Json) -> Problems:
        yield from _spec_problems(obj["spec"], None)
        name = obj["metadata"].get("name", "")
        if len(name) > _MAX_NAME_LENGTH:
            yield invalid("metadata.name", name, f"must be no more than {_MAX_NAME_LENGTH} characters")

    def update_problems(self, obj: Json, old: Json) -> Problems:
        return _spec_problems(obj["spec"], old["spec"])

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        names_zone = "TZ" in obj["spec"].get("schedule", "")
        return [
            *dns_label_warnings(obj, old, "Pod names and hostnames"),
            *([_ZONE_WARNING] if names_zone else ()),
        ]

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


def _spec_problems(spec: Json, old: Json | None) -> Problems:
    schedule = spec.get("schedule", "")
    problem = schedule_problem(schedule) if schedule else None
    if not schedule:
        yield required("spec.schedule")
    if problem:
        yield invalid("spec.schedule", schedule, problem)
    if "TZ" in schedule and "TZ" not in (old or {}).get("schedule", ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid("spec.schedule", schedule, detail)
    yield from check("spec", spec, ("startingDeadlineSeconds", non_negative))
    if old is None or old.get("timeZone") != spec.get("timeZone"):
        yield from _zone_problems(spec.get("timeZone"))
    yield from check("spec", spec, ("concurrencyPolicy", one_of("Allow", "Forbid", "Replace")))
    jobs, place = spec["jobTemplate"].get("spec") or {}, "spec.jobTemplate.spec"
    yield from job_spec_problems(place, jobs)
    if jobs.get("selector") is not None:
        yield invalid(f"{place}.selector", jobs["selector"], "`selector` will be auto-generated")
    if jobs.get("manualSelector"):
        yield not_supported(f"{place}.manualSelector", True, ("nil", "false"))
    limits = ("successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    yield from check("spec", spec, *((name, non_negative) for name in limits))


def _zone_problems(zone: str | None) -> Problems:
    if zone is None:
        return
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
        return
    parts = zone.split("/")
    is_name = all(
        part not in (".", "..") and not part.startswith("-") and _ZONE_PART.fullmatch(part) for part in parts
    )
    if is_name and zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid("spec.timeZone", zone, detail)
    if not is_name or not is_time_zone(zone):
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")
