"""HorizontalPodAutoscalers in autoscaling/v1 and v2, stored in v2. Nothing scales.

v1 keeps the fields that it lacks in annotations.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import orjson

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.kinds.names import path_segment_problems, qualified_name_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    dns_label,
    forbidden,
    invalid,
    non_negative,
    not_supported,
    required,
)
from picokube.apiserver.strategies.kind import Ignored
from picokube.apiserver.strategies.printing import NONE, UNSET, created
from picokube.schema import FieldError
from picokube.schema.go_text import Struct, as_json

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS, BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
CURRENT_METRICS, CONDITIONS = f"{_PREFIX}current-metrics", f"{_PREFIX}conditions"
_ANNOTATIONS: Final = frozenset(
    {METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS}
    | {f"{_PREFIX}{name}" for name in ("scale-down-tolerance", "scale-up-tolerance")}
)
DEFAULT_UTILIZATION: Final = 80

_Paths = tuple[tuple[str, str], ...]
_V1_FIELDS: Final[dict[str, _Paths]] = {
    "object": (
        ("target", "describedObject"), ("metricName", "metric.name"), ("targetValue", "target.value"),
        ("selector", "metric.selector"), ("averageValue", "target.averageValue"),
    ),
    "pods": (
        ("metricName", "metric.name"), ("targetAverageValue", "target.averageValue"),
        ("selector", "metric.selector"),
    ),
    "resource": (
        ("name", "name"), ("targetAverageUtilization", "target.averageUtilization"),
        ("targetAverageValue", "target.averageValue"),
    ),
    "containerResource": (
        ("name", "name"), ("targetAverageUtilization", "target.averageUtilization"),
        ("targetAverageValue", "target.averageValue"), ("container", "container"),
    ),
    "external": (
        ("metricName", "metric.name"), ("metricSelector", "metric.selector"), ("targetValue", "target.value"),
        ("targetAverageValue", "target.averageValue"),
    ),
}  # fmt: skip
"""Fields of each source of metrics: in v1, in the order of its structs, and in v2."""
_V1_STATUS_FIELDS: Final[dict[str, _Paths]] = {
    source: tuple(
        (
            old.replace("target", "current") if new.startswith("target.") else old,
            new.replace("target.", "current."),
        )
        for old, new in paths
    )
    for source, paths in _V1_FIELDS.items()
}
_RULES: Final = {
    "StabilizationWindowSeconds": "stabilizationWindowSeconds",
    "SelectPolicy": "selectPolicy",
    "Policies": "policies",
    "Tolerance": "tolerance",
}
_POLICY: Final = {"Type": "type", "Value": "value", "PeriodSeconds": "periodSeconds"}
_SHARED_SPEC: Final = ("scaleTargetRef", "minReplicas", "maxReplicas")
_SHARED_STATUS: Final = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def to_v1(obj: Json) -> JsonObject:
    """An object of autoscaling/v2, as v1 shows it."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    metrics, current = spec.get("metrics") or (), status.get("currentMetrics") or ()
    shown = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    if (
        utilization := next(
            (_cpu_utilization(metric) for metric in metrics if _cpu_utilization(metric) is not None), None
        )
    ) is not None:
        shown["targetCPUUtilizationPercentage"] = utilization
    shown_status = {name: status[name] for name in _SHARED_STATUS if name in status}
    for item in current:
        if (utilization := _cpu_utilization(item, "current")) is not None:
            shown_status["currentCPUUtilizationPercentage"] = utilization
    kept: dict[str, str] = {}
    if others := [
        _metric_to_v1(metric, _V1_FIELDS) for metric in metrics if _cpu_utilization(metric) is None
    ]:
        kept[METRICS] = as_json(others)
    if current:
        kept[CURRENT_METRICS] = as_json([_metric_to_v1(item, _V1_STATUS_FIELDS) for item in current])
    if spec.get("behavior") is not None:
        kept[BEHAVIOR] = as_json(_behavior_annotation(spec["behavior"]))
    if status.get("conditions"):
        kept[CONDITIONS] = as_json([Struct(condition) for condition in status["conditions"]])
    return _with_annotations(obj, kept) | {"spec": shown, "status": shown_status}


def to_v2(obj: Json) -> JsonObject:
    """An object of autoscaling/v1, as v2 shows it. Annotations that are no JSON mean nothing."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    notes = (obj.get("metadata") or {}).get("annotations") or {}
    shown: JsonObject = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    metrics = [_metric_to_v2(item, _V1_FIELDS) for item in _read_annotation(notes.get(METRICS), list)]
    stated = spec.get("targetCPUUtilizationPercentage")
    if stated is not None or not metrics:
        metrics.append(cpu_metric(DEFAULT_UTILIZATION if stated is None else stated))
    shown["metrics"] = metrics
    if behavior := _read_annotation(notes.get(BEHAVIOR), dict):
        shown["behavior"] = _behavior_from_annotation(behavior)
    shown_status: JsonObject = {name: status[name] for name in _SHARED_STATUS if name in status}
    if current := [
        _metric_to_v2(item, _V1_STATUS_FIELDS) for item in _read_annotation(notes.get(CURRENT_METRICS), list)
    ]:
        shown_status["currentMetrics"] = current
    elif (utilization := status.get("currentCPUUtilizationPercentage")) is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": utilization}}
        shown_status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    if conditions := _read_annotation(notes.get(CONDITIONS), list):
        shown_status["conditions"] = conditions
    return _with_annotations(obj, {}) | {"spec": shown, "status": shown_status}


def cpu_metric(utilization: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _with_annotations(obj: Json, kept: dict[str, str]) -> JsonObject:
    """The object with these annotations alone of those that hold fields of the other version."""
    meta = dict(obj["metadata"])
    notes = {name: text for name, text in (meta.get("annotations") or {}).items() if name not in _ANNOTATIONS}
    if notes or kept:
        meta["annotations"] = notes | kept
    else:
        meta.pop("annotations", None)
    return {**obj, "metadata": meta}


def _cpu_utilization(metric: Json, where: str = "target") -> int | None:
    """The utilization of the CPU, for which v1 has a field."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get(where) or {}).get("averageUtilization")
    return found


def _metric_to_v1(metric: Json, table: Mapping[str, _Paths]) -> Struct:
    found = Struct(type=metric.get("type", ""))
    for source, paths in table.items():
        if metric.get(source) is not None:
            values = {old: _value_at(metric[source], new) for old, new in paths}
            found[source] = Struct({old: value for old, value in values.items() if value is not None})
    return found


def _metric_to_v2(metric: Json, table: Mapping[str, _Paths]) -> JsonObject:
    found: JsonObject = {"type": metric.get("type", "")}
    for source, paths in table.items():
        if metric.get(source) is None:
            continue
        shown: JsonObject = {}
        for old, new in paths:
            if metric[source].get(old) is not None:
                _set_path(shown, new, metric[source][old])
        if table is _V1_FIELDS:
            target = shown.setdefault("target", {})
            shown["target"] = {"type": _target_type(target)} | target
        found[source] = shown
    return found


def _target_type(target: Json) -> str:
    if "averageUtilization" in target:
        return "Utilization"
    return "AverageValue" if "averageValue" in target else "Value"


def _behavior_annotation(behavior: Json) -> Struct:
    """Behavior is kept as the server's own type writes itself."""
    found = Struct()
    for name in ("scaleUp", "scaleDown"):
        rules: Json | None = behavior.get(name)
        found[f"{name[0].upper()}{name[1:]}"] = None if rules is None else _annotated_rules(rules)
    return found


def _annotated_rules(rules: Json) -> Struct:
    shown = Struct({own: rules.get(ours) for own, ours in _RULES.items()})
    if rules.get("policies") is not None:
        shown["Policies"] = [
            Struct({own: policy.get(ours) for own, ours in _POLICY.items()}) for policy in rules["policies"]
        ]
    return shown


def _behavior_from_annotation(behavior: Json) -> JsonObject:
    found: JsonObject = {}
    for name in ("scaleUp", "scaleDown"):
        rules = behavior.get(f"{name[0].upper()}{name[1:]}")
        if not isinstance(rules, dict):
            continue
        found[name] = {ours: rules[own] for own, ours in _RULES.items() if rules.get(own) is not None}
        if "policies" in found[name]:
            policies = found[name]["policies"]
            found[name]["policies"] = [
                {ours: policy.get(own) for own, ours in _POLICY.items()} for policy in policies
            ]
    return found


def _read_annotation(text: str | None, kind: type) -> Any:
    try:
        found = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        return kind()
    return found if isinstance(found, kind) else kind()


def _value_at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _set_path(obj: JsonObject, path: str, value: Any) -> None:
    *before, last = path.split(".")
    for name in before:
        obj = obj.setdefault(name, {})
    obj[last] = value


MAX_PERIOD_SECONDS: Final = 1800
MAX_STABILIZATION_SECONDS: Final = 3600
MAX_API_VERSION_PARTS: Final = 2
_METRIC_SOURCES: Final = {
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
    unknown = (
        [] if kind in _METRIC_SOURCES else [not_supported(f"{field}.type", kind, sorted(_METRIC_SOURCES))]
    )
    problems = [] if kind else [required(f"{field}.type", "must specify a metric source type")]
    problems += unknown
    present = [name for name in _METRIC_SOURCES.values() if metric.get(name) is not None]
    if present:
        problems += _source_problems(f"{field}.{present[0]}", present[0], metric[present[0]])
    expected = _METRIC_SOURCES.get(kind, "")
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


_PERIOD: Final = 15
_SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": (("Pods", 4), ("Percent", 100)),
}
_SCALE_DOWN: Final = {"selectPolicy": "Max", "policies": (("Percent", 100),)}


class HorizontalPodAutoscaler(Ignored):
    """An autoscaler of autoscaling/v2."""

    plural: ClassVar = "HorizontalPodAutoscalers"

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if not spec.get("metrics"):
            spec["metrics"] = [cpu_metric(DEFAULT_UTILIZATION)]
        behavior = spec.get("behavior")
        if behavior is not None:
            for name, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
                behavior[name] = _default_rules(rules) | (behavior.get(name) or {})

    def problems(self, obj: Json) -> list[FieldError]:
        return autoscaler_problems(obj["spec"])

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return autoscaler_problems(obj["spec"], old["spec"])

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        return status_problems(obj.get("status") or {})

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        ref = spec.get("scaleTargetRef") or {}
        targets = [_target(metric) for metric in spec.get("metrics") or ()]
        return [
            f"{ref.get('kind', '')}/{ref.get('name', '')}",
            ", ".join(targets) or NONE,
            str(spec["minReplicas"]) if spec.get("minReplicas") is not None else UNSET,
            spec.get("maxReplicas", 0),
            status.get("currentReplicas", 0),
            created(obj),
        ]

    def in_form(self, obj: Json) -> JsonObject:
        """An object of this version as Go would write it."""
        return self._as_written(obj)


class HorizontalPodAutoscalerV1(HorizontalPodAutoscaler):
    """An autoscaler of autoscaling/v1."""

    _newer: ClassVar[HorizontalPodAutoscaler | None] = None

    def default(self, obj: JsonObject) -> None:
        if obj["spec"].get("minReplicas") is None:
            obj["spec"]["minReplicas"] = 1

    def problems(self, obj: Json) -> list[FieldError]:
        return autoscaler_problems(to_v2(obj)["spec"])

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        return autoscaler_problems(to_v2(obj)["spec"], to_v2(old)["spec"])

    def converted(self, obj: Json) -> JsonObject:
        """A stored object, as this version shows it."""
        return self.in_form(to_v1(obj))

    def stored_form(self, obj: Json) -> JsonObject:
        if HorizontalPodAutoscalerV1._newer is None:
            HorizontalPodAutoscalerV1._newer = HorizontalPodAutoscaler(
                "autoscaling/v2.HorizontalPodAutoscaler", version="v2"
            )
        found = to_v2(obj) | {"apiVersion": "autoscaling/v2"}
        return HorizontalPodAutoscalerV1._newer.in_form(found)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return super().table_cells(
            self.stored_form(obj) if obj.get("apiVersion") == "autoscaling/v1" else obj
        )


def _default_rules(rules: dict[str, Any]) -> JsonObject:
    policies = [{"type": kind, "value": value, "periodSeconds": _PERIOD} for kind, value in rules["policies"]]
    return rules | {"policies": policies}


def _target(metric: Json) -> str:
    found = metric.get("resource") or {}
    target = found.get("target") or {}
    if target.get("averageUtilization") is not None:
        return f"{found.get('name', '')}: <unknown>/{target['averageUtilization']}%"
    return f"<unknown>/{target.get('averageValue') or target.get('value') or '<auto>'}"
