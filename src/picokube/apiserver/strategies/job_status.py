"""What is wrong with the status of a job: it must make sense, and what is over stays over."""

from collections.abc import Iterator
from typing import Final

from picokube.apiserver.strategies.checks import Json, invalid, non_negative, required
from picokube.apiserver.strategies.printing import condition
from picokube.schema import FieldError
from picokube.schema.errors import OMITTED

_COUNTERS: Final = ("active", "succeeded", "failed", "ready")
_FINAL: Final = ("Failed", "Complete", "FailureTarget")


def job_status_problems(obj: Json, old: Json) -> list[FieldError]:
    """Ignores problems that the old status already had."""
    counts = obj.get("status") or {}
    negative = [item for name in _COUNTERS for item in non_negative(f"status.{name}", counts.get(name))]
    known = {problem.message for problem in _state_problems(old)}
    found = [problem for problem in _state_problems(obj) if problem.message not in known]
    return [*negative, *found, *_change_problems(obj, old)]


def _state_problems(obj: Json) -> Iterator[FieldError]:
    status = obj.get("status") or {}
    complete, failed = condition(obj, "Complete"), condition(obj, "Failed")
    target, met = condition(obj, "FailureTarget"), condition(obj, "SuccessCriteriaMet")
    for other, found in (("Failed", failed), ("FailureTarget", target)):
        if complete and found:
            yield _conditions(f"cannot set Complete=True and {other}=true conditions")
    yield from _time_problems(status, is_complete=complete is not None)
    if failed and not target:
        yield _conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    if complete and not met:
        yield _conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if complete or failed:
        yield from _finished_problems(status)
    yield from _index_problems(obj, status)
    ready = status.get("ready")
    if ready is not None and ready > status.get("active", 0):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")
    if met:
        for other, found in (("Failed", failed), ("FailureTarget", target)):
            if found:
                yield _conditions(f"cannot set SuccessCriteriaMet=True and {other}=true conditions")


def _time_problems(status: Json, *, is_complete: bool) -> Iterator[FieldError]:
    start, end = status.get("startTime"), status.get("completionTime")
    if end and not is_complete:
        detail = "cannot set completionTime when there is no Complete=True condition"
        yield invalid("status.completionTime", end, detail)
    if is_complete and not end:
        yield required("status.completionTime", "completionTime is required for Complete jobs")
    if start and end and end < start:
        yield invalid("status.completionTime", end, "must be equal to or after `startTime`")


def _finished_problems(status: Json) -> Iterator[FieldError]:
    if status.get("active", 0) > 0:
        yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
    if not status.get("startTime"):
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if uncounted.get("failed") or uncounted.get("succeeded"):
        yield invalid("status.uncountedTerminatedPods", dict(uncounted), "must be empty for finished job")
    if (status.get("terminating") or 0) > 0:
        yield invalid(
            "status.terminating", status["terminating"], "terminating>0 is invalid for finished job"
        )


def _index_problems(obj: Json, status: Json) -> Iterator[FieldError]:
    spec = obj.get("spec") or {}
    done, failed = status.get("completedIndexes"), status.get("failedIndexes")
    if done and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", done, detail)
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, detail)


def _change_problems(obj: Json, old: Json) -> Iterator[FieldError]:
    status, before = obj.get("status") or {}, old.get("status") or {}
    for name in _FINAL:
        if condition(old, name) and not condition(obj, name):
            yield _conditions(f"cannot disable the terminal {name}=True condition")
    for name in ("failed", "succeeded"):
        if status.get(name, 0) < before.get(name, 0):
            yield invalid(f"status.{name}", status.get(name, 0), f"cannot decrease the {name} counter")
    end, was = status.get("completionTime"), before.get("completionTime")
    if end and was and end != was:
        yield invalid("status.completionTime", end, "field is immutable")
    start = before.get("startTime")
    goes_on = (obj.get("spec") or {}).get("suspend") or _resumes(old, obj)
    if start and start != status.get("startTime") and not goes_on:
        yield required("status.startTime", "startTime cannot be removed for unsuspended job")
    if condition(old, "SuccessCriteriaMet") and not condition(obj, "SuccessCriteriaMet"):
        yield _conditions("cannot disable the SuccessCriteriaMet=True condition")
    if (
        condition(old, "Complete")
        and not condition(old, "SuccessCriteriaMet")
        and condition(obj, "SuccessCriteriaMet")
    ):
        yield _conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")


def _resumes(old: Json, new: Json) -> bool:
    """A Job that goes on after it was suspended starts anew."""
    return bool(condition(old, "Suspended")) and not condition(new, "Suspended")


def _conditions(detail: str) -> FieldError:
    return invalid("status.conditions", OMITTED, detail)
