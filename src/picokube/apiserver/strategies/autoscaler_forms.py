"""HorizontalPodAutoscalers in autoscaling/v1 and v2: the same object with other fields. Pure.

What v1 has no field for, it shows in annotations, and takes it back from there.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from picokube.schema.go_text import Struct, as_json

JsonObject = dict[str, Any]
Json = Mapping[str, Any]

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
METRICS, BEHAVIOR = f"{_PREFIX}metrics", f"{_PREFIX}behavior"
CURRENT_METRICS, CONDITIONS = f"{_PREFIX}current-metrics", f"{_PREFIX}conditions"
_ANNOTATIONS: Final = frozenset(
    {METRICS, BEHAVIOR, CURRENT_METRICS, CONDITIONS}
    | {f"{_PREFIX}{name}" for name in ("scale-down-tolerance", "scale-up-tolerance")}
)
DEFAULT_UTILIZATION: Final = 80

_Paths = tuple[tuple[str, str], ...]
_SOURCES: Final[dict[str, _Paths]] = {
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
_STATUSES: Final[dict[str, _Paths]] = {
    source: tuple(
        (
            old.replace("target", "current") if new.startswith("target.") else old,
            new.replace("target.", "current."),
        )
        for old, new in paths
    )
    for source, paths in _SOURCES.items()
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
        utilization := next((_cpu(metric) for metric in metrics if _cpu(metric) is not None), None)
    ) is not None:
        shown["targetCPUUtilizationPercentage"] = utilization
    shown_status = {name: status[name] for name in _SHARED_STATUS if name in status}
    for item in current:
        if (utilization := _cpu(item, "current")) is not None:
            shown_status["currentCPUUtilizationPercentage"] = utilization
    kept: dict[str, str] = {}
    if others := [_older(metric, _SOURCES) for metric in metrics if _cpu(metric) is None]:
        kept[METRICS] = as_json(others)
    if current:
        kept[CURRENT_METRICS] = as_json([_older(item, _STATUSES) for item in current])
    if spec.get("behavior") is not None:
        kept[BEHAVIOR] = as_json(_internal(spec["behavior"]))
    if status.get("conditions"):
        kept[CONDITIONS] = as_json([Struct(condition) for condition in status["conditions"]])
    return _with(obj, kept) | {"spec": shown, "status": shown_status}


def to_v2(obj: Json) -> JsonObject:
    """An object of autoscaling/v1, as v2 shows it. Annotations that are no JSON mean nothing."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    notes = (obj.get("metadata") or {}).get("annotations") or {}
    shown: JsonObject = {name: spec[name] for name in _SHARED_SPEC if name in spec}
    metrics = [_newer(item, _SOURCES) for item in _read(notes.get(METRICS), list)]
    stated = spec.get("targetCPUUtilizationPercentage")
    if stated is not None or not metrics:
        metrics.append(cpu_metric(DEFAULT_UTILIZATION if stated is None else stated))
    shown["metrics"] = metrics
    if behavior := _read(notes.get(BEHAVIOR), dict):
        shown["behavior"] = _external(behavior)
    shown_status: JsonObject = {name: status[name] for name in _SHARED_STATUS if name in status}
    if current := [_newer(item, _STATUSES) for item in _read(notes.get(CURRENT_METRICS), list)]:
        shown_status["currentMetrics"] = current
    elif (utilization := status.get("currentCPUUtilizationPercentage")) is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": utilization}}
        shown_status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    if conditions := _read(notes.get(CONDITIONS), list):
        shown_status["conditions"] = conditions
    return _with(obj, {}) | {"spec": shown, "status": shown_status}


def cpu_metric(utilization: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _with(obj: Json, kept: dict[str, str]) -> JsonObject:
    """The object with these annotations alone of those that hold fields of the other version."""
    meta = dict(obj["metadata"])
    notes = {name: text for name, text in (meta.get("annotations") or {}).items() if name not in _ANNOTATIONS}
    if notes or kept:
        meta["annotations"] = notes | kept
    else:
        meta.pop("annotations", None)
    return {**obj, "metadata": meta}


def _cpu(metric: Json, where: str = "target") -> int | None:
    """The utilization of the CPU, for which v1 has a field."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get(where) or {}).get("averageUtilization")
    return found


def _older(metric: Json, table: Mapping[str, _Paths]) -> Struct:
    found = Struct(type=metric.get("type", ""))
    for source, paths in table.items():
        if metric.get(source) is not None:
            values = {old: _at(metric[source], new) for old, new in paths}
            found[source] = Struct({old: value for old, value in values.items() if value is not None})
    return found


def _newer(metric: Json, table: Mapping[str, _Paths]) -> JsonObject:
    found: JsonObject = {"type": metric.get("type", "")}
    for source, paths in table.items():
        if metric.get(source) is None:
            continue
        shown: JsonObject = {}
        for old, new in paths:
            if metric[source].get(old) is not None:
                _put(shown, new, metric[source][old])
        if table is _SOURCES:
            target = shown.setdefault("target", {})
            shown["target"] = {"type": _target_type(target)} | target
        found[source] = shown
    return found


def _target_type(target: Json) -> str:
    if "averageUtilization" in target:
        return "Utilization"
    return "AverageValue" if "averageValue" in target else "Value"


def _internal(behavior: Json) -> Struct:
    """Behavior is kept as the server's own type writes itself."""
    found = Struct()
    for name in ("scaleUp", "scaleDown"):
        rules: Json | None = behavior.get(name)
        found[f"{name[0].upper()}{name[1:]}"] = None if rules is None else _internal_rules(rules)
    return found


def _internal_rules(rules: Json) -> Struct:
    shown = Struct({own: rules.get(ours) for own, ours in _RULES.items()})
    if rules.get("policies") is not None:
        shown["Policies"] = [
            Struct({own: policy.get(ours) for own, ours in _POLICY.items()}) for policy in rules["policies"]
        ]
    return shown


def _external(behavior: Json) -> JsonObject:
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


def _read(text: str | None, kind: type) -> Any:
    try:
        found = orjson.loads(text or "")
    except orjson.JSONDecodeError:
        return kind()
    return found if isinstance(found, kind) else kind()


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _put(obj: JsonObject, path: str, value: Any) -> None:
    *before, last = path.split(".")
    for name in before:
        obj = obj.setdefault(name, {})
    obj[last] = value
