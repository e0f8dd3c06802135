"""Jobs: defaults, the generated selector, and what may still change."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any, Final

from picokube.apiserver.names import label_problems, label_value_problems
from picokube.apiserver.strategies.checks import (
    IMMUTABLE,
    Json,
    JsonObject,
    immutable,
    invalid,
    label_selector,
    labels_match,
    required,
    same,
)
from picokube.apiserver.strategies.job_spec import job_spec_problems
from picokube.apiserver.strategies.job_status import job_status_problems
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pod import dns_label_advice
from picokube.apiserver.strategies.pod_defaults import default_pod_spec
from picokube.apiserver.strategies.printing import (
    between,
    condition,
    containers_and_images,
    created,
    selector,
)
from picokube.schema import FieldError

NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_UNBOUNDED: Final = 2**31 - 1
_ENDED: Final = ("Complete", "Failed")
_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


class Job(Kind):
    """A job."""

    settles = True

    def default(self, obj: JsonObject) -> None:
        default_job_spec(obj["spec"])
        self.default_rest(obj, ())

    def default_rest(self, obj: JsonObject, settled: Collection[str]) -> None:
        del settled
        spec = obj["spec"]
        template_labels = (spec["template"].get("metadata") or {}).get("labels")
        if template_labels and not obj["metadata"].get("labels") and not _has_bad_name(template_labels):
            # One and the same: what is generated into the one appears in the other.
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

    def problems(self, obj: Json) -> list[FieldError]:
        return self._problems(obj, _spec_problems(obj["spec"]))

    def _problems(self, obj: Json, of_spec: list[FieldError]) -> list[FieldError]:
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        problems = [*_selector_problems(obj), *of_spec]
        completions = spec.get("completions")
        if spec.get("completionMode") == "Indexed" and completions:
            host = f"{name}-{completions - 1}"
            if label_problems(host):
                detail = f"will not able to create pod with invalid DNS label: {host}"
                problems.append(invalid("metadata.name", name, detail))
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        of_spec = _spec_problems(spec)
        # kube-apiserver looks twice, and tells twice.
        problems = [*self._problems(obj, of_spec), *of_spec]
        problems += _completion_problems(spec, before)
        problems += immutable("spec.selector", spec.get("selector"), before.get("selector"))
        if not _may_change_template(old) or not same(
            _without_directives(spec["template"]), _without_directives(before["template"])
        ):
            problems += immutable("spec.template", spec["template"], before["template"])
        for name in (
            "completionMode",
            "podFailurePolicy",
            "backoffLimitPerIndex",
            "managedBy",
            "successPolicy",
        ):
            problems += immutable(f"spec.{name}", spec.get(name), before.get(name))
        return problems

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return job_status_problems(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        if old is not None or not (problems := dns_label_advice(obj["metadata"].get("name", ""))):
            return []
        warning = (
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS "
            f"label is recommended: [{' '.join(problems)}]"
        )
        return [warning]

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


def _has_bad_name(labels: Json) -> bool:
    """A name that fits in no label is refused where it was generated into one, and only there."""
    return bool(label_value_problems(labels.get(NAME_LABELS[1], "")))


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


def _spec_problems(spec: Json) -> list[FieldError]:
    problems = job_spec_problems("spec", spec)
    chosen = spec.get("selector")
    if chosen is None:
        problems.append(required("spec.selector"))
    else:
        problems += label_selector("spec.selector", chosen)
    found = (spec["template"].get("metadata") or {}).get("labels")
    if not labels_match(chosen, found or {}):
        detail = "`selector` does not match template `labels`"
        problems.append(invalid("spec.template.metadata.labels", found, detail))
    return problems


def _selector_problems(obj: Json) -> list[FieldError]:
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return []
    found = (spec["template"].get("metadata") or {}).get("labels") or {}
    wanted = {
        UID_LABELS[0]: meta.get("uid", ""),
        NAME_LABELS[0]: meta.get("name", ""),
        UID_LABELS[1]: meta.get("uid", ""),
        NAME_LABELS[1]: meta.get("name", ""),
    }
    place = "spec.template.metadata.labels"
    problems = []
    for key, value in wanted.items():
        if key not in found:
            problems.append(required(place, f"must be '{value}'"))
        elif found[key] != value:
            problems.append(invalid(place, found, f"must be '{value}'"))
    if not labels_match(spec.get("selector"), wanted):
        problems.append(invalid("spec.selector", spec.get("selector"), "`selector` not auto-generated"))
    return problems


def _completion_problems(spec: Json, before: Json) -> list[FieldError]:
    """Indexed jobs may be made larger and smaller, with parallelism along; others have the number they have."""
    new, old = spec.get("completions"), before.get("completions")
    if new == old:
        return []
    if spec.get("completionMode") != "Indexed" or new is None or old is None:
        return immutable("spec.completions", new, old)
    if new != spec.get("parallelism"):
        return [
            invalid("spec.completions", new, f"can only be modified in tandem with parallelism; {IMMUTABLE}")
        ]
    return []


def _may_change_template(old: Json) -> bool:
    """Where pods may go can be said anew while a job is suspended and never ran."""
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
