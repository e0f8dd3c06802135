"""HorizontalPodAutoscalers in autoscaling/v1 and v2, stored in v2. Nothing scales.

v1 keeps the fields that it lacks in annotations.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import orjson

from picokube.apiserver.gotypes.encoding import written
from picokube.apiserver.gotypes.go_types import struct_of
from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    Rule,
    at_least,
    at_most,
    check,
    dns_label,
    each,
    forbidden,
    given,
    invalid,
    members,
    need,
    non_negative,
    not_supported,
    path_segment,
    qualified_name,
    required,
    supported,
)
from picokube.apiserver.strategies.kind import StoredOnly
from picokube.apiserver.strategies.printing import NONE, UNSET, created
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
"""Types of metrics and their fields, in the order of validation."""
_TARGETS: Final = ("Utilization", "Value", "AverageValue")


def autoscaler_problems(spec: Json, old: Json | None = None) -> Problems:
    """`old` is the stored spec in an update: an apiVersion that was stored may stay."""
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        yield invalid("spec.maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    before = old and (old.get("scaleTargetRef") or {}).get("apiVersion")
    is_stored = old is not None and before == target.get("apiVersion")
    yield from _reference("spec.scaleTargetRef", target, any_version=is_stored)
    metrics = spec.get("metrics") or ()
    yield from each(_metric)("spec.metrics", metrics)
    if least == 0 and not {item.get("type") for item in metrics} & {"Object", "External"}:
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", detail)
    behavior = spec.get("behavior")
    yield from check(
        "spec.behavior", behavior, ("scaleUp", given(_SCALING_RULES)), ("scaleDown", given(_SCALING_RULES))
    )


def _reference(field: str, ref: Json, *, any_version: bool = False, any_group: bool = False) -> Problems:
    yield from check(field, ref, ("kind", need(path_segment)), ("name", need(path_segment)))
    version = ref.get("apiVersion", "")
    parts = version.split("/") if version else []
    if any_version:
        return
    if len(parts) > MAX_API_VERSION_PARTS:
        yield invalid(f"{field}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif len(parts) < MAX_API_VERSION_PARTS and not any_group:
        yield invalid(f"{field}.apiVersion", version, "apiVersion must specify API group")


def _metric(field: str, metric: Json) -> Problems:
    kind = metric.get("type") or ""
    unknown = (
        [] if kind in _METRIC_SOURCES else [not_supported(f"{field}.type", kind, sorted(_METRIC_SOURCES))]
    )
    if not kind:
        yield required(f"{field}.type", "must specify a metric source type")
    yield from unknown
    present = [name for name in _METRIC_SOURCES.values() if metric.get(name) is not None]
    if present:
        yield from _source(f"{field}.{present[0]}", present[0], metric[present[0]])
    expected = _METRIC_SOURCES.get(kind, "")
    if expected and metric.get(expected) is None:
        yield required(f"{field}.{expected}", "must populate information for the given metric source")
    yield from unknown
    if len(present) != 1:
        detail = "must populate the given metric source only"
        yield from (forbidden(f"{field}.{name}", detail) for name in sorted(present) if name != expected)


def _source(field: str, source: str, found: Json) -> Problems:
    if source == "object":
        yield from _reference(f"{field}.describedObject", found.get("describedObject") or {}, any_group=True)
    yield from check(field, found, *_SOURCE_ROWS[source], ("target", _TARGET))
    target = found.get("target") or {}
    value, average, utilization = (
        target.get(name) for name in ("value", "averageValue", "averageUtilization")
    )
    match source:
        case "object" if value is None and average is None:
            yield required(f"{field}.target.averageValue", "must set either a target value or averageValue")
        case "external" if value is None and average is None:
            detail = "must set either a target value for metric or a per-pod target"
            yield required(f"{field}.target.averageValue", detail)
        case "external" if value is not None and average is not None:
            detail = "may not set both a target value for metric and a per-pod target"
            yield forbidden(f"{field}.target.value", detail)
        case "pods" if average is None:
            yield required(f"{field}.target.averageValue", "must specify a positive target averageValue")
        case "resource" | "containerResource" if utilization is None and average is None:
            detail = "must set either a target raw value or a target utilization"
            yield required(f"{field}.target.averageUtilization", detail)
        case "resource" | "containerResource" if utilization is not None and average is not None:
            detail = "may not set both a target raw value and a target utilization"
            yield forbidden(f"{field}.target.averageValue", detail)


def _metric_target_type(field: str, kind: str | None) -> Problems:
    if not kind:
        yield required(field, "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(field, kind or "", "must be either Utilization, Value, or AverageValue")


def _positive(field: str, amount: str) -> Problems:
    if quantity_value(amount) <= 0:
        yield invalid(field, amount, "must be positive")


def _tolerance(field: str, amount: str) -> Problems:
    if quantity_value(amount) < 0:
        yield invalid(field, amount, "must be greater than or equal to 0")


_NAMED_METRIC: Final = (("metric", members(("name", need(path_segment, "must specify a metric name")))),)
_RESOURCE_NAME: Final = "must specify a resource name"
_SOURCE_ROWS: Final[dict[str, tuple[tuple[str, Rule], ...]]] = {
    **dict.fromkeys(("object", "external", "pods"), _NAMED_METRIC),
    "resource": (("name", need(detail=_RESOURCE_NAME)),),
    "containerResource": (
        ("name", need(qualified_name, _RESOURCE_NAME)),
        ("container", need(dns_label, "must specify a container")),
    ),
}
_TARGET: Final = members(
    ("type", _metric_target_type),
    ("value", given(_positive)),
    ("averageValue", given(_positive)),
    ("averageUtilization", at_least(1, "must be greater than 0")),
)


def _above_zero(field: str, value: int | None) -> Problems:
    if (value or 0) <= 0:
        yield invalid(field, value or 0, "must be greater than zero")


_POLICY_RULE: Final = members(
    ("type", supported("Percent", "Pods")),
    ("value", _above_zero),
    ("periodSeconds", _above_zero),
    ("periodSeconds", at_most(MAX_PERIOD_SECONDS, f"must be less than or equal to {MAX_PERIOD_SECONDS}")),
)
_MAX_STABILIZATION: Final = f"must be less than or equal to {MAX_STABILIZATION_SECONDS}"
_SCALING_RULES: Final = members(
    ("stabilizationWindowSeconds", at_least(0, "must be greater than or equal to zero")),
    ("stabilizationWindowSeconds", at_most(MAX_STABILIZATION_SECONDS, _MAX_STABILIZATION)),
    ("selectPolicy", given(supported("Disabled", "Max", "Min"))),
    ("policies", need(each(_POLICY_RULE), "must specify at least one Policy")),
    ("tolerance", given(_tolerance)),
)
_STATUS_ROWS: Final = (("currentReplicas", non_negative), ("desiredReplicas", non_negative))
_STORED_STRUCT: Final = "autoscaling/v2.HorizontalPodAutoscaler"
_PERIOD: Final = 15
_SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": (("Pods", 4), ("Percent", 100)),
}
_SCALE_DOWN: Final = {"selectPolicy": "Max", "policies": (("Percent", 100),)}


class HorizontalPodAutoscaler(StoredOnly):
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

    def problems(self, obj: Json) -> Problems:
        return autoscaler_problems(obj["spec"])

    def update_problems(self, obj: Json, old: Json) -> Problems:
        return autoscaler_problems(obj["spec"], old["spec"])

    def status_problems(self, obj: Json, _old: Json) -> Problems:
        return check("status", obj.get("status"), *_STATUS_ROWS)

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


class HorizontalPodAutoscalerV1(HorizontalPodAutoscaler):
    """An autoscaler of autoscaling/v1."""

    def default(self, obj: JsonObject) -> None:
        if obj["spec"].get("minReplicas") is None:
            obj["spec"]["minReplicas"] = 1

    def problems(self, obj: Json) -> Problems:
        return autoscaler_problems(to_v2(obj)["spec"])

    def update_problems(self, obj: Json, old: Json) -> Problems:
        return autoscaler_problems(to_v2(obj)["spec"], to_v2(old)["spec"])

    def converted(self, obj: Json) -> JsonObject:
        """A stored object, as this version shows it."""
        return self._as_written(to_v1(obj))

    def stored_form(self, obj: Json) -> JsonObject:
        return written(to_v2(obj) | {"apiVersion": "autoscaling/v2"}, struct_of(_STORED_STRUCT))

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
