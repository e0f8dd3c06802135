"""Kinds that charts bring and nobody acts on here: stored with their defaults, shown as kubectl shows them."""

from typing import Any, ClassVar

from jangar.apiserver.strategies.checks import Json, JsonObject
from jangar.apiserver.strategies.kind import Kind
from jangar.apiserver.strategies.printing import NONE, UNSET, created, selector


class Ignored(Kind):
    """Creating one tells that nobody will act on it."""

    plural: ClassVar = ""

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        del obj
        if old is not None or not self.plural:
            return []
        return [f"nobody acts on {self.plural} on this server; it is stored only"]


class Ingress(Ignored):
    plural: ClassVar = "Ingresses"

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec = obj.get("spec") or {}
        hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
        more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""  # noqa: PLR2004 - kubectl shows three
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        return [
            spec.get("ingressClassName") or NONE,
            ",".join(hosts[:3]) + more or "*",
            ",".join(each.get("ip") or each.get("hostname", "") for each in ingress),
            "80, 443" if spec.get("tls") else "80",
            created(obj),
        ]


class NetworkPolicy(Ignored):
    plural: ClassVar = "NetworkPolicies"

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [selector((obj.get("spec") or {}).get("podSelector")), created(obj)]


class HorizontalPodAutoscaler(Ignored):
    plural: ClassVar = "HorizontalPodAutoscalers"

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if not spec.get("metrics"):
            target = {"type": "Utilization", "averageUtilization": 80}
            spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        ref = spec.get("scaleTargetRef") or {}
        targets = [_target(each) for each in spec.get("metrics") or ()]
        return [
            f"{ref.get('kind', '')}/{ref.get('name', '')}",
            ", ".join(targets) or NONE,
            str(spec["minReplicas"]) if spec.get("minReplicas") is not None else UNSET,
            spec.get("maxReplicas", 0),
            status.get("currentReplicas", 0),
            created(obj),
        ]


def _target(metric: Json) -> str:
    found = metric.get("resource") or {}
    target = found.get("target") or {}
    if target.get("averageUtilization") is not None:
        return f"{found.get('name', '')}: <unknown>/{target['averageUtilization']}%"
    return f"<unknown>/{target.get('averageValue') or target.get('value') or '<auto>'}"


class PodDisruptionBudget(Ignored):
    plural: ClassVar = "PodDisruptionBudgets"

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        bounds = [
            str(spec[name]) if spec.get(name) is not None else "N/A"
            for name in ("minAvailable", "maxUnavailable")
        ]
        return [*bounds, status.get("disruptionsAllowed", 0), created(obj)]


class StorageClass(Ignored):
    plural: ClassVar = "StorageClasses"

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [
            obj.get("provisioner", ""),
            obj.get("reclaimPolicy", "Delete"),
            obj.get("volumeBindingMode", "Immediate"),
            bool(obj.get("allowVolumeExpansion")),
            created(obj),
        ]


class Endpoints(Ignored):
    def default(self, obj: JsonObject) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        del obj, old
        return ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        found = [
            f"{address.get('ip', '')}:{port.get('port', 0)}"
            for subset in obj.get("subsets") or ()
            for port in subset.get("ports") or ()
            for address in subset.get("addresses") or ()
        ]
        more = f" + {len(found) - 3} more..." if len(found) > 3 else ""  # noqa: PLR2004 - kubectl shows three
        return [",".join(found[:3]) + more or NONE, created(obj)]


class EndpointSlice(Ignored):
    def default(self, obj: JsonObject) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        ports = [str(each.get("port", "*")) for each in obj.get("ports") or ()]
        addresses = [
            address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()
        ]
        return [
            obj.get("addressType", ""),
            _few(ports) if ports else UNSET,
            _few(addresses) if addresses else UNSET,
            created(obj),
        ]


def _few(texts: list[str]) -> str:
    return ",".join(texts[:3]) + (f" + {len(texts) - 3} more..." if len(texts) > 3 else "")  # noqa: PLR2004


class ResourceQuota(Ignored):
    plural: ClassVar = "ResourceQuotas"

    def table_cells(self, obj: JsonObject) -> list[Any]:
        status = obj.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        shown = {name: f"{name}: {used.get(name, '0')}/{amount}" for name, amount in sorted(hard.items())}
        return [
            ", ".join(text for name, text in shown.items() if not name.startswith("limits.")),
            ", ".join(text for name, text in shown.items() if name.startswith("limits.")),
            created(obj),
        ]


class LimitRange(Ignored):
    plural: ClassVar = "LimitRanges"

    def default(self, obj: JsonObject) -> None:
        for item in obj["spec"].get("limits") or ():
            if item.get("type") == "Container":
                item["default"] = (item.get("max") or {}) | (item.get("default") or {})
                asked = item["default"] | (item.get("defaultRequest") or {})
                item["defaultRequest"] = (item.get("min") or {}) | asked

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj["metadata"].get("creationTimestamp", "")]


class WebhookConfiguration(Ignored):
    plural: ClassVar = "webhooks"

    def default(self, obj: JsonObject) -> None:
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("timeoutSeconds", 10)
            for name in ("namespaceSelector", "objectSelector"):
                hook.setdefault(name, {})
            for rule in hook.get("rules") or ():
                rule.setdefault("scope", "*")
            if "reinvocationPolicy" not in hook and self._struct.short.startswith("Mutating"):
                hook["reinvocationPolicy"] = "Never"

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [len(obj.get("webhooks") or ()), created(obj)]
