"""HorizontalPodAutoscalers, in both their versions; stored in the newer one. Nobody scales here."""

from typing import Any, ClassVar, Final

from picokube.apiserver.strategies.autoscaler_checks import autoscaler_problems, status_problems
from picokube.apiserver.strategies.autoscaler_forms import DEFAULT_UTILIZATION, cpu_metric, to_v1, to_v2
from picokube.apiserver.strategies.checks import Json, JsonObject
from picokube.apiserver.strategies.printing import NONE, UNSET, created
from picokube.apiserver.strategies.stored_only import Ignored
from picokube.schema import FieldError

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


class OldAutoscaler(HorizontalPodAutoscaler):
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
        if OldAutoscaler._newer is None:
            OldAutoscaler._newer = HorizontalPodAutoscaler(
                "autoscaling/v2.HorizontalPodAutoscaler", version="v2"
            )
        found = to_v2(obj) | {"apiVersion": "autoscaling/v2"}
        return OldAutoscaler._newer.in_form(found)

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
