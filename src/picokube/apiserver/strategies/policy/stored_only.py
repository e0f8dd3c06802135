"""Kinds that charts bring and nobody acts on here: stored with their defaults, shown as kubectl shows them."""

from typing import Any, ClassVar, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import invalid, label_selector, not_supported, number_or_percent
from picokube.apiserver.strategies.kind import Ignored
from picokube.apiserver.strategies.policy.network import (
    ingress_class_problems,
    ingress_problems,
    ingress_status_problems,
    network_policy_problems,
)
from picokube.apiserver.strategies.policy.webhooks import webhook_problems
from picokube.apiserver.strategies.printing import NONE, UNSET, created, selector
from picokube.schema import FieldError

_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")


class Ingress(Ignored):
    plural: ClassVar = "Ingresses"

    def problems(self, obj: Json) -> list[FieldError]:
        return [*ingress_problems(obj["spec"]), *ingress_class_problems(obj)]

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        return ingress_problems(obj["spec"])

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        return ingress_status_problems(obj.get("status") or {})

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec = obj.get("spec") or {}
        hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
        more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""  # noqa: PLR2004 - kubectl shows three
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        return [
            spec.get("ingressClassName") or NONE,
            ",".join(hosts[:3]) + more or "*",
            ",".join(item.get("ip") or item.get("hostname", "") for item in ingress),
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

    def problems(self, obj: Json) -> list[FieldError]:
        return network_policy_problems(obj["spec"])

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [selector((obj.get("spec") or {}).get("podSelector")), created(obj)]


class PodDisruptionBudget(Ignored):
    plural: ClassVar = "PodDisruptionBudgets"

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        problems: list[FieldError] = []
        if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
            detail = "minAvailable and maxUnavailable cannot be both set"
            problems.append(invalid("spec", dict(spec), detail))
        for name in ("minAvailable", "maxUnavailable"):
            if spec.get(name) is not None:
                problems += number_or_percent(f"spec.{name}", spec[name])
        problems += label_selector("spec.selector", spec.get("selector"))
        policy = spec.get("unhealthyPodEvictionPolicy")
        if policy is not None and policy not in _EVICTION_POLICIES:
            problems.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
        return problems

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
        ports = [str(port.get("port", "*")) for port in obj.get("ports") or ()]
        addresses = [
            address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()
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

    def problems(self, obj: Json) -> list[FieldError]:
        return webhook_problems(obj.get("webhooks") or (), mutating=self._struct.short.startswith("Mutating"))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [len(obj.get("webhooks") or ()), created(obj)]
