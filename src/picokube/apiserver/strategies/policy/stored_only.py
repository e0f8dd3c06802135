"""Other kinds that charts contain and nothing acts on: stored with their defaults and shown as kubectl shows them."""

from typing import Any, ClassVar

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    check,
    given,
    invalid,
    label_selector,
    number_or_percent,
    supported,
)
from picokube.apiserver.strategies.kind import StoredOnly
from picokube.apiserver.strategies.printing import NONE, UNSET, created, first_three


class PodDisruptionBudget(StoredOnly):
    plural: ClassVar = "PodDisruptionBudgets"

    def problems(self, obj: Json) -> Problems:
        spec = obj["spec"]
        if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
            yield invalid("spec", dict(spec), "minAvailable and maxUnavailable cannot be both set")
        yield from check(
            "spec",
            spec,
            ("minAvailable", given(number_or_percent)),
            ("maxUnavailable", given(number_or_percent)),
            ("selector", label_selector),
            ("unhealthyPodEvictionPolicy", given(supported("AlwaysAllow", "IfHealthyBudget"))),
        )

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        bounds = [
            str(spec[name]) if spec.get(name) is not None else "N/A"
            for name in ("minAvailable", "maxUnavailable")
        ]
        return [*bounds, status.get("disruptionsAllowed", 0), created(obj)]


class StorageClass(StoredOnly):
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


class Endpoints(StoredOnly):
    def default(self, obj: JsonObject) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def warnings(self, _obj: Json, _old: Json | None) -> list[str]:
        return ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        found = [
            f"{address.get('ip', '')}:{port.get('port', 0)}"
            for subset in obj.get("subsets") or ()
            for port in subset.get("ports") or ()
            for address in subset.get("addresses") or ()
        ]
        return [first_three(found) or NONE, created(obj)]


class EndpointSlice(StoredOnly):
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
            first_three(ports) if ports else UNSET,
            first_three(addresses) if addresses else UNSET,
            created(obj),
        ]


class ResourceQuota(StoredOnly):
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


class LimitRange(StoredOnly):
    plural: ClassVar = "LimitRanges"

    def default(self, obj: JsonObject) -> None:
        for item in obj["spec"].get("limits") or ():
            if item.get("type") == "Container":
                item["default"] = (item.get("max") or {}) | (item.get("default") or {})
                requests = item["default"] | (item.get("defaultRequest") or {})
                item["defaultRequest"] = (item.get("min") or {}) | requests

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj["metadata"].get("creationTimestamp", "")]
