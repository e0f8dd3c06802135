"""Jobs: defaults, the generated selector, validation of updates and of the status."""

from collections.abc import Collection, Iterable
from copy import deepcopy
from typing import Any, Final

from picokube.apiserver.kinds.names import label_problems, label_value_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    IMMUTABLE,
    Problems,
    at_most,
    check,
    immutable,
    immutable_members,
    invalid,
    label_selector,
    labels_match,
    need,
    non_negative,
    required,
    same,
    template_labels_match,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pods.defaults import default_pod_spec
from picokube.apiserver.strategies.pods.pod import dns_label_warnings
from picokube.apiserver.strategies.printing import (
    between,
    condition,
    containers_and_images,
    created,
    selector,
)
from picokube.apiserver.strategies.workloads.job_spec import job_spec_problems
from picokube.schema import FieldError
from picokube.schema.errors import OMITTED

_COUNTERS: Final = tuple((name, non_negative) for name in ("active", "succeeded", "failed", "ready"))
_FINAL: Final = ("Failed", "Complete", "FailureTarget")


def job_status_problems(obj: Json, old: Json) -> Problems:
    """Ignores problems that the old status already had."""
    yield from check("status", obj.get("status"), *_COUNTERS)
    known = {problem.message for problem in _state_problems(old)}
    yield from (problem for problem in _state_problems(obj) if problem.message not in known)
    yield from _change_problems(obj, old)


def _state_problems(obj: Json) -> Problems:
    status, spec = obj.get("status") or {}, obj.get("spec") or {}
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
        yield from check("status", status, *_FINISHED_ROWS)
    yield from _index_problems(spec, status)
    ready = status.get("ready")
    if ready is not None and ready > status.get("active", 0):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")
    for other, found in (("Failed", failed), ("FailureTarget", target)):
        if met and found:
            yield _conditions(f"cannot set SuccessCriteriaMet=True and {other}=true conditions")


def _time_problems(status: Json, *, is_complete: bool) -> Problems:
    start, end = status.get("startTime"), status.get("completionTime")
    if end and not is_complete:
        detail = "cannot set completionTime when there is no Complete=True condition"
        yield invalid("status.completionTime", end, detail)
    if is_complete and not end:
        yield required("status.completionTime", "completionTime is required for Complete jobs")
    if start and end and end < start:
        yield invalid("status.completionTime", end, "must be equal to or after `startTime`")


def _index_problems(spec: Json, status: Json) -> Problems:
    done, failed_indexes = status.get("completedIndexes"), status.get("failedIndexes")
    if done and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", done, detail)
    if failed_indexes is not None and spec.get("backoffLimitPerIndex") is None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed_indexes, detail)


def _no_uncounted(field: str, uncounted: Json | None) -> Problems:
    if uncounted and (uncounted.get("failed") or uncounted.get("succeeded")):
        yield invalid(field, dict(uncounted), "must be empty for finished job")


_FINISHED_ROWS: Final = (
    ("active", at_most(0, "active>0 is invalid for finished job")),
    ("startTime", need(detail="startTime is required for finished job")),
    ("uncountedTerminatedPods", _no_uncounted),
    ("terminating", at_most(0, "terminating>0 is invalid for finished job")),
)


def _change_problems(obj: Json, old: Json) -> Problems:
    status, before = obj.get("status") or {}, old.get("status") or {}
    for name in _FINAL:
        if condition(old, name) and not condition(obj, name):
            yield _conditions(f"cannot disable the terminal {name}=True condition")
    for name in ("failed", "succeeded"):
        if status.get(name, 0) < before.get(name, 0):
            yield invalid(f"status.{name}", status.get(name, 0), f"cannot decrease the {name} counter")
    end, was = status.get("completionTime"), before.get("completionTime")
    if end and was and end != was:
        yield invalid("status.completionTime", end, IMMUTABLE)
    start = before.get("startTime")
    goes_on = (obj.get("spec") or {}).get("suspend") or _resumes(old, obj)
    if start and start != status.get("startTime") and not goes_on:
        yield required("status.startTime", "startTime cannot be removed for unsuspended job")
    was_met, is_met = condition(old, "SuccessCriteriaMet"), condition(obj, "SuccessCriteriaMet")
    if was_met and not is_met:
        yield _conditions("cannot disable the SuccessCriteriaMet=True condition")
    if condition(old, "Complete") and is_met and not was_met:
        yield _conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")


def _resumes(old: Json, new: Json) -> bool:
    """Whether a suspended Job was resumed."""
    return bool(condition(old, "Suspended")) and not condition(new, "Suspended")


def _conditions(detail: str) -> FieldError:
    return invalid("status.conditions", OMITTED, detail)


NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_IMMUTABLE_FIELDS: Final = (
    "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"
)  # fmt: skip
_UNBOUNDED: Final = 2**31 - 1
_ENDED: Final = ("Complete", "Failed")
_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


class Job(Kind):
    """A job."""

    settles = True

    def default(self, obj: JsonObject) -> None:
        default_job_spec(obj["spec"])
        self.default_rest(obj, ())

    def default_rest(self, obj: JsonObject, _settled: Collection[str]) -> None:
        spec = obj["spec"]
        template_labels = (spec["template"].get("metadata") or {}).get("labels")
        if (
            template_labels
            and not obj["metadata"].get("labels")
            and not label_value_problems(template_labels.get(NAME_LABELS[1], ""))
        ):
            # The same dict: generated labels appear in both.
            obj["metadata"]["labels"] = template_labels

    def reset(self, obj: JsonObject) -> None:
        spec, meta = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        found = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        shared = meta.get("labels") is found
        for label in NAME_LABELS:
            found.setdefault(label, meta.get("name", ""))
        for label in UID_LABELS:
            found.setdefault(label, meta.get("uid", ""))
        if shared:
            meta["labels"] = dict(found)
        chosen = (spec.setdefault("selector", {})).setdefault("matchLabels", {})
        chosen.setdefault(UID_LABELS[1], meta.get("uid", ""))

    def problems(self, obj: Json) -> Problems:
        return self._problems(obj, _spec_problems(obj["spec"]))

    def _problems(self, obj: Json, of_spec: Iterable[FieldError]) -> Problems:
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        yield from _selector_problems(obj)
        yield from of_spec
        completions = spec.get("completions")
        if spec.get("completionMode") == "Indexed" and completions:
            host = f"{name}-{completions - 1}"
            if label_problems(host):
                detail = f"will not able to create pod with invalid DNS label: {host}"
                yield invalid("metadata.name", name, detail)

    def update_problems(self, obj: Json, old: Json) -> Problems:
        spec, before = obj["spec"], old["spec"]
        of_spec = list(_spec_problems(spec))
        yield from self._problems(obj, of_spec)
        # kube-apiserver validates the spec twice, and reports its problems twice.
        yield from of_spec
        yield from _completion_problems(spec, before)
        yield from immutable("spec.selector", spec.get("selector"), before.get("selector"))
        if not _may_change_template(old) or not same(
            _without_directives(spec["template"]), _without_directives(before["template"])
        ):
            yield from immutable("spec.template", spec["template"], before["template"])
        yield from immutable_members("spec", spec, before, *_IMMUTABLE_FIELDS)

    def status_problems(self, obj: Json, old: Json) -> Problems:
        return job_status_problems(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        return dns_label_warnings(obj, old, "Pod names and hostnames")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        status, spec = obj.get("status") or {}, obj.get("spec") or {}
        lasted = between(status["startTime"], status.get("completionTime")) if status.get("startTime") else ""
        return [
            _state(obj),
            _completions(spec, status.get("succeeded", 0)),
            lasted,
            created(obj),
            *containers_and_images(spec.get("template") or {}),
            selector(spec.get("selector")),
        ]


def default_job_spec(spec: JsonObject) -> None:
    """Of a job. The template of a cron job's jobs has none of it but the pod's own defaults."""
    if "parallelism" not in spec and "completions" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _UNBOUNDED if spec.get("backoffLimitPerIndex") is not None else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault(
        "podReplacementPolicy",
        "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed",
    )
    spec.setdefault("manualSelector", False)
    default_job_template(spec)


def default_job_template(spec: JsonObject) -> None:
    default_pod_spec(spec.setdefault("template", {}).setdefault("spec", {}))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def _spec_problems(spec: Json) -> Problems:
    yield from job_spec_problems("spec", spec)
    if spec.get("selector") is None:
        yield required("spec.selector")
    yield from label_selector("spec.selector", spec.get("selector"))
    yield from template_labels_match(spec)


def _selector_problems(obj: Json) -> Problems:
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    found = (spec["template"].get("metadata") or {}).get("labels") or {}
    wanted = {
        UID_LABELS[0]: meta.get("uid", ""),
        NAME_LABELS[0]: meta.get("name", ""),
        UID_LABELS[1]: meta.get("uid", ""),
        NAME_LABELS[1]: meta.get("name", ""),
    }
    for key, value in wanted.items():
        if key not in found:
            yield required("spec.template.metadata.labels", f"must be '{value}'")
        elif found[key] != value:
            yield invalid("spec.template.metadata.labels", found, f"must be '{value}'")
    if not labels_match(spec.get("selector"), wanted):
        yield invalid("spec.selector", spec.get("selector"), "`selector` not auto-generated")


def _completion_problems(spec: Json, before: Json) -> Problems:
    """Indexed jobs may be resized together with their parallelism; others keep their number of completions."""
    new, old = spec.get("completions"), before.get("completions")
    if spec.get("completionMode") != "Indexed" or new is None or old is None:
        yield from immutable("spec.completions", new, old)
    elif new not in (old, spec.get("parallelism")):
        detail = f"can only be modified in tandem with parallelism; {IMMUTABLE}"
        yield invalid("spec.completions", new, detail)


def _may_change_template(old: Json) -> bool:
    """Scheduling directives may change while a job is suspended and has never run."""
    return bool(old["spec"].get("suspend")) and not (old.get("status") or {}).get("startTime")


def _without_directives(template: Json) -> JsonObject:
    found = deepcopy(dict(template))
    found.pop("metadata", None)
    spec = found.get("spec") or {}
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(name, None)
    if affinity := spec.get("affinity"):
        affinity.pop("nodeAffinity", None)
        if not affinity:
            spec.pop("affinity")
    return found


def _state(obj: Json) -> str:
    for name in _ENDED:
        if condition(obj, name):
            return name
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return next((name for name in _STATES if condition(obj, name)), "Running")


def _completions(spec: Json, succeeded: int) -> str:
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
