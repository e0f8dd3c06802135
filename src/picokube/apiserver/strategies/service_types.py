"""Fields of a Service that its type decides: which it has, which it loses when its type changes. Pure."""

from typing import Any, Final

from picokube.apiserver.strategies.checks import (
    Json,
    JsonObject,
    forbidden,
    invalid,
    not_supported,
    port_number,
    required,
)
from picokube.schema import FieldError

NODE_PORTS: Final = range(30000, 32768)
WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_POLICIES: Final = ("Cluster", "Local")


def is_externally_accessible(spec: Json) -> bool:
    return spec.get("type") in WITH_NODE_PORTS or (
        spec.get("type") == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def needs_health_check(spec: Json) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def keep_allocated(spec: JsonObject, before: Json) -> None:
    """Node ports that an update leaves out stay those of the ports of the same name."""
    if spec["type"] in WITH_NODE_PORTS and before.get("type") in WITH_NODE_PORTS:
        ports = spec.get("ports") or ()
        known = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
        used = {port.get("nodePort") for port in ports}
        for port in ports:
            node_port = known.get(port.get("name", ""))
            if node_port and not port.get("nodePort") and node_port not in used:
                port["nodePort"] = node_port
    if needs_health_check(spec) and needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def drop_dependent(obj: JsonObject, old: Json) -> None:
    """Take away what the new type has no use for, unless its writer changed it, too: that is refused instead."""
    spec, before = obj["spec"], old["spec"]
    if spec["type"] not in WITH_NODE_PORTS and before.get("type") in WITH_NODE_PORTS:
        stated = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
        if stated <= {port.get("nodePort") for port in before.get("ports") or ()}:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    leaving: dict[str, bool] = {
        "healthCheckNodePort": needs_health_check(before) and not needs_health_check(spec),
        "externalTrafficPolicy": is_externally_accessible(before) and not is_externally_accessible(spec),
    }
    no_balancer = before.get("type") == "LoadBalancer" and spec["type"] != "LoadBalancer"
    leaving |= dict.fromkeys(("allocateLoadBalancerNodePorts", "loadBalancerClass"), no_balancer)
    for name, leaves in leaving.items():
        if leaves and spec.get(name) == before.get(name):
            spec.pop(name, None)
    if spec["type"] != "LoadBalancer" and "status" in obj:
        obj["status"] = {**(obj["status"] or {}), "loadBalancer": {}}


def type_problems(spec: Json) -> list[FieldError]:
    """Fields of another type, and policies that there are not."""
    kind = spec.get("type")
    problems: list[FieldError] = []
    if kind == "ClusterIP":
        detail = "may not be used when `type` is 'ClusterIP'"
        problems += [
            forbidden(f"spec.ports[{n}].nodePort", detail)
            for n, port in enumerate(spec.get("ports") or ())
            if port.get("nodePort")
        ]
    if kind != "LoadBalancer":
        detail = "may only be used when `type` is 'LoadBalancer'"
        names = ("allocateLoadBalancerNodePorts", "loadBalancerClass")
        problems += [forbidden(f"spec.{name}", detail) for name in names if spec.get(name) is not None]
    inner = spec.get("internalTrafficPolicy")
    if inner is not None and inner not in _POLICIES:
        problems.append(not_supported("spec.internalTrafficPolicy", inner, _POLICIES))
    return problems + _external_problems(spec)


def _external_problems(spec: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    policy, port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort")
    if not is_externally_accessible(spec):
        if policy:
            detail = "may only be set for externally-accessible services"
            problems.append(invalid("spec.externalTrafficPolicy", policy, detail))
    elif policy not in _POLICIES:
        problems.append(not_supported("spec.externalTrafficPolicy", policy, _POLICIES))
    if not needs_health_check(spec):
        if port:
            detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            problems.append(invalid("spec.healthCheckNodePort", port, detail))
    elif not port:
        problems.append(required("spec.healthCheckNodePort"))
    else:
        problems += port_number("spec.healthCheckNodePort", port)
    return problems


def allocation_problems(spec: Json) -> list[FieldError]:
    """Node ports outside the range; found when they are allocated, after everything else is right."""
    detail = f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS[0]}-{NODE_PORTS[-1]}"
    return [
        invalid(f"spec.ports[{n}].nodePort", port["nodePort"], detail)
        for n, port in enumerate(spec.get("ports") or ())
        if port.get("nodePort") and port["nodePort"] not in NODE_PORTS
    ]


def ignored_fields(spec: Json) -> list[str]:
    """Warnings of fields that mean nothing to a service of this type."""
    found: list[str] = []
    kind: Any = spec.get("type")
    if kind == "ClusterIP" and spec.get("clusterIP") == "None":
        if spec.get("loadBalancerIP"):
            found.append("spec.loadBalancerIP is ignored for headless services")
        if spec.get("externalIPs"):
            found.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            found.append("spec.SessionAffinity is ignored for headless services")
    if kind == "ExternalName" and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    return found
