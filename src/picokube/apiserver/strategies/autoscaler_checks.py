"""What is wrong with a HorizontalPodAutoscaler of autoscaling/v2, in kube-apiserver's words. Pure."""

from typing import Any, Final

from picokube.apiserver.names import path_segment_problems, qualified_name_problems
from picokube.apiserver.strategies.checks import (
    Json,
    dns_label,
    forbidden,
    invalid,
    non_negative,
    not_supported,
    required,
)
from picokube.apiserver.strategies.scalar_types import quantity_value
from picokube.schema import FieldError

MAX_PERIOD_SECONDS: Final = 1800
MAX_STABILIZATION_SECONDS: Final = 3600
MAX_API_VERSION_PARTS: Final = 2
_SOURCES: Final = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""Types of metrics and their fields, in the order in which they are looked at."""
_TARGETS: Final = ("Utilization", "Value", "AverageValue")
_SELECT: Final = ("Disabled", "Max", "Min")
_POLICIES: Final = ("Percent", "Pods")


def autoscaler_problems(spec: Json, old: Json | None = None) -> list[FieldError]:
    """`old` is the stored spec in an update: an apiVersion that was stored may stay."""
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    problems: list[FieldError] = []
    if least is not None and least < 1:
        problems.append(invalid("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most < 1:
        problems.append(invalid("spec.maxReplicas", most, "must be greater than 0"))
    if least is not None and most < least:
        problems.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    target = spec.get("scaleTargetRef") or {}
    is_stored = old is not None and (old.get("scaleTargetRef") or {}).get("apiVersion") == target.get(
        "apiVersion"
    )
    problems += _reference_problems("spec.scaleTargetRef", target, any_version=is_stored, any_group=False)
    metrics = spec.get("metrics") or ()
    for n, metric in enumerate(metrics):
        problems += _metric_problems(f"spec.metrics[{n}]", metric)
    if least == 0 and not {item.get("type") for item in metrics} & {"Object", "External"}:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        problems.append(forbidden("spec.metrics", detail))
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            problems += _rules_problems(f"spec.behavior.{name}", rules)
    return problems


def status_problems(status: Json) -> list[FieldError]:
    return [
        problem
        for name in ("currentReplicas", "desiredReplicas")
        for problem in non_negative(f"status.{name}", status.get(name))
    ]


def _reference_problems(field: str, ref: Json, *, any_version: bool, any_group: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    for name in ("kind", "name"):
        problems += _segment_problems(f"{field}.{name}", ref.get(name), "")
    version = ref.get("apiVersion", "")
    parts = version.split("/") if version else []
    if any_version:
        return problems
    if len(parts) > MAX_API_VERSION_PARTS:
        detail = f"unexpected GroupVersion string: {version}"
        problems.append(invalid(f"{field}.apiVersion", version, detail))
    elif len(parts) < MAX_API_VERSION_PARTS and not any_group:
        problems.append(invalid(f"{field}.apiVersion", version, "apiVersion must specify API group"))
    return problems


def _segment_problems(field: str, value: str | None, missing: str) -> list[FieldError]:
    if not value:
        return [required(field, missing) if missing else required(field)]
    return [invalid(field, value, problem) for problem in path_segment_problems(value)]


def _metric_problems(field: str, metric: Json) -> list[FieldError]:
    kind = metric.get("type") or ""
    unknown = [] if kind in _SOURCES else [not_supported(f"{field}.type", kind, sorted(_SOURCES))]
    problems = [] if kind else [required(f"{field}.type", "must specify a metric source type")]
    problems += unknown
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        problems += _source_problems(f"{field}.{present[0]}", present[0], metric[present[0]])
    expected = _SOURCES.get(kind, "")
    if expected and metric.get(expected) is None:
        detail = "must populate information for the given metric source"
        problems.append(required(f"{field}.{expected}", detail))
    problems += unknown
    if len(present) != 1:
        detail = "must populate the given metric source only"
        problems += [forbidden(f"{field}.{name}", detail) for name in sorted(present) if name != expected]
    return problems


def _source_problems(field: str, source: str, found: Json) -> list[FieldError]:
    target, problems = found.get("target") or {}, _named_problems(field, source, found)
    problems += _target_problems(f"{field}.target", target)
    value, average = target.get("value"), target.get("averageValue")
    match source:
        case "object" | "external":
            if value is None and average is None:
                word = "averageValue" if source == "object" else "for metric or a per-pod target"
                detail = f"must set either a target value {'or ' if source == 'object' else ''}{word}"
                problems.append(required(f"{field}.target.averageValue", detail))
            elif source == "external" and value is not None and average is not None:
                detail = "may not set both a target value for metric and a per-pod target"
                problems.append(forbidden(f"{field}.target.value", detail))
        case "pods":
            if average is None:
                detail = "must specify a positive target averageValue"
                problems.append(required(f"{field}.target.averageValue", detail))
        case _:
            utilization = target.get("averageUtilization")
            if utilization is None and average is None:
                detail = "must set either a target raw value or a target utilization"
                problems.append(required(f"{field}.target.averageUtilization", detail))
            elif utilization is not None and average is not None:
                detail = "may not set both a target raw value and a target utilization"
                problems.append(forbidden(f"{field}.target.averageValue", detail))
    return problems


def _named_problems(field: str, source: str, found: Json) -> list[FieldError]:
    """What a source measures: a metric by its name, or a resource, perhaps of a container."""
    if source in ("object", "external", "pods"):
        problems: list[FieldError] = []
        if source == "object":
            described = found.get("describedObject") or {}
            problems += _reference_problems(
                f"{field}.describedObject", described, any_version=False, any_group=True
            )
        name = (found.get("metric") or {}).get("name")
        return problems + _segment_problems(f"{field}.metric.name", name, "must specify a metric name")
    name = found.get("name", "")
    if not name:
        problems = [required(f"{field}.name", "must specify a resource name")]
    elif source == "containerResource":
        problems = [invalid(f"{field}.name", name, problem) for problem in qualified_name_problems(name)]
    else:
        problems = []
    if source == "containerResource":
        container = found.get("container", "")
        if container:
            problems += dns_label(f"{field}.container", container)
        else:
            problems.append(required(f"{field}.container", "must specify a container"))
    return problems


def _target_problems(field: str, target: Json) -> list[FieldError]:
    kind = target.get("type", "")
    problems = [] if kind else [required(f"{field}.type", "must specify a metric target type")]
    if kind not in _TARGETS:
        problems.append(invalid(f"{field}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        amount: Any = target.get(name)
        if amount is not None and quantity_value(amount) <= 0:
            problems.append(invalid(f"{field}.{name}", amount, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        problems.append(invalid(f"{field}.averageUtilization", utilization, "must be greater than 0"))
    return problems


def _rules_problems(field: str, rules: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        detail = "must be greater than or equal to zero"
        problems.append(invalid(f"{field}.stabilizationWindowSeconds", window, detail))
    if window is not None and window > MAX_STABILIZATION_SECONDS:
        detail = f"must be less than or equal to {MAX_STABILIZATION_SECONDS}"
        problems.append(invalid(f"{field}.stabilizationWindowSeconds", window, detail))
    if select is not None and select not in _SELECT:
        problems.append(not_supported(f"{field}.selectPolicy", select, _SELECT))
    policies = rules.get("policies") or ()
    if not policies:
        problems.append(required(f"{field}.policies", "must specify at least one Policy"))
    for n, policy in enumerate(policies):
        problems += _policy_problems(f"{field}.policies[{n}]", policy)
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity_value(tolerance) < 0:
        problems.append(invalid(f"{field}.tolerance", tolerance, "must be greater than or equal to 0"))
    return problems


def _policy_problems(field: str, policy: Json) -> list[FieldError]:
    kind, value, period = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    problems = [] if kind in _POLICIES else [not_supported(f"{field}.type", kind, _POLICIES)]
    if value <= 0:
        problems.append(invalid(f"{field}.value", value, "must be greater than zero"))
    if period <= 0:
        problems.append(invalid(f"{field}.periodSeconds", period, "must be greater than zero"))
    if period > MAX_PERIOD_SECONDS:
        detail = f"must be less than or equal to {MAX_PERIOD_SECONDS}"
        problems.append(invalid(f"{field}.periodSeconds", period, detail))
    return problems
