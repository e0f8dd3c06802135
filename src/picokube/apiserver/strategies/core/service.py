"""Services: ports, a cluster IP, and the fields that depend on the type. Nothing routes to them."""

import hashlib
import ipaddress
from typing import Any, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    immutable,
    invalid,
    labels,
    not_supported,
    port_number,
    port_or_name,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import NONE, created, pairs
from picokube.schema import FieldError
from picokube.schema.go_text import Struct

NODE_PORTS: Final = range(30000, 32768)
WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_TRAFFIC_POLICIES: Final = ("Cluster", "Local")


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
    if inner is not None and inner not in _TRAFFIC_POLICIES:
        problems.append(not_supported("spec.internalTrafficPolicy", inner, _TRAFFIC_POLICIES))
    return problems + _external_problems(spec)


def _external_problems(spec: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    policy, port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort")
    if not is_externally_accessible(spec):
        if policy:
            detail = "may only be set for externally-accessible services"
            problems.append(invalid("spec.externalTrafficPolicy", policy, detail))
    elif policy not in _TRAFFIC_POLICIES:
        problems.append(not_supported("spec.externalTrafficPolicy", policy, _TRAFFIC_POLICIES))
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


RANGE: Final = ipaddress.ip_network("10.96.0.0/16")
_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_AFFINITY_SECONDS: Final = 10800


class Service(Kind):
    """A service."""

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        _default_affinity(spec)
        spec.setdefault("type", "ClusterIP")
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if is_externally_accessible(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if spec["type"] in ("ClusterIP", *WITH_NODE_PORTS):
            spec.setdefault("internalTrafficPolicy", "Cluster")
        if spec["type"] == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for item in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
                if item.get("ip"):
                    item.setdefault("ipMode", "VIP")

    def reset(self, obj: JsonObject) -> None:
        _allocate(obj)

    def reset_update(self, obj: JsonObject, old: Json, subresource: str) -> None:
        spec, before = obj["spec"], old["spec"]
        if subresource != "status":
            keep_allocated(spec, before)
            drop_dependent(obj, old)
        if spec["type"] == "ExternalName":
            for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"):
                spec.pop(name, None)
            return
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(name) and name in before:
                self._put_back(spec, before, name)
        if spec.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        _allocate(obj)

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        if families := _family_problems(spec):
            return families
        is_headless = spec.get("clusterIP") == "None"
        problems: list[FieldError] = []
        if not spec.get("ports") and not is_headless and spec.get("type") != "ExternalName":
            problems.append(required("spec.ports"))
        if spec.get("type") == "ExternalName":
            name = (spec.get("externalName") or "").removesuffix(".")
            problems += dns_subdomain("spec.externalName", name) if name else [required("spec.externalName")]
        problems += _port_problems(spec.get("ports") or ())
        problems += labels("spec.selector", spec.get("selector"))
        if spec.get("sessionAffinity") not in ("ClientIP", "None"):
            allowed = ("ClientIP", "None")
            problems.append(not_supported("spec.sessionAffinity", spec.get("sessionAffinity", ""), allowed))
        if spec.get("type") not in _TYPES:
            problems.append(not_supported("spec.type", spec.get("type", ""), _TYPES))
        problems += [*_duplicate_ports(spec.get("ports") or ()), *_address_problems(spec)]
        problems += type_problems(spec)
        return problems or allocation_problems(spec)

    def status_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        given = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")
        if given and obj["spec"].get("type") != "LoadBalancer":
            detail = "may only be used when `spec.type` is 'LoadBalancer'"
            return [forbidden("status.loadBalancer.ingress", detail)]
        return []

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if families := _family_problems(spec):
            return families
        problems: list[FieldError] = []
        if (
            before.get("type") != "ExternalName"
            and spec.get("type") != "ExternalName"
            and before.get("clusterIP")
        ):
            new, was = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
            if new[:1] != was[:1]:
                problems.append(invalid("spec.clusterIPs[0]", new, "may not change once set"))
        return [*problems, *self.problems(obj)]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        del old
        return ignored_fields(obj["spec"])

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec = obj.get("spec") or {}
        addresses = spec.get("clusterIPs") or ()
        return [
            spec.get("type", ""),
            addresses[0] if addresses else NONE,
            _external_address(obj),
            ",".join(_shown_port(port) for port in spec.get("ports") or ()) or NONE,
            created(obj),
            pairs(spec.get("selector")),
        ]


def _default_affinity(spec: JsonObject) -> None:
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        found = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if found.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _allocate(obj: JsonObject) -> None:
    """Addresses and node ports, decided by the service's name: the same name has the same address."""
    spec, meta = obj["spec"], obj["metadata"]
    if spec["type"] == "ExternalName":
        return
    is_headless = spec.get("clusterIP") == "None"
    if not spec.get("clusterIP"):
        spec["clusterIP"] = str(RANGE[_hash_below(meta, RANGE.num_addresses - 512) + 256])
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    is_dual = is_headless and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if is_dual else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_dual else "SingleStack")
    wants_ports = spec["type"] == "NodePort" or (
        spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts")
    )
    if wants_ports:
        for n, port in enumerate(spec.get("ports") or ()):
            if not port.get("nodePort"):
                port["nodePort"] = _node_port(meta, n)
    if needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = _node_port(meta, len(spec.get("ports") or ()))


def _node_port(meta: Json, index: int) -> int:
    return NODE_PORTS[(_hash_below(meta, len(NODE_PORTS)) + index) % len(NODE_PORTS)]


def _hash_below(meta: Json, below: int) -> int:
    key = f"{meta.get('namespace', '')}/{meta.get('name', '')}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") % below


def _port_problems(ports: list[Json] | tuple[Json, ...]) -> list[FieldError]:
    problems: list[FieldError] = []
    names: set[str] = set()
    for n, port in enumerate(ports):
        place, name = f"spec.ports[{n}]", port.get("name", "")
        if not name and len(ports) > 1:
            problems.append(required(f"{place}.name"))
        elif name:
            problems += dns_label(f"{place}.name", name)
            if name in names:
                problems.append(duplicate(f"{place}.name", name))
            names.add(name)
        problems += port_number(f"{place}.port", port.get("port", 0))
        if port.get("protocol") not in _PROTOCOLS:
            problems.append(not_supported(f"{place}.protocol", port.get("protocol", ""), _PROTOCOLS))
        problems += port_or_name(f"{place}.targetPort", port.get("targetPort", 0))
    return problems


def _duplicate_ports(ports: list[Json] | tuple[Json, ...]) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[tuple[Any, Any]] = set()
    for n, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = Struct(Name="", Protocol=key[0], AppProtocol=None, Port=key[1], TargetPort=0, NodePort=0)
            problems.append(duplicate(f"spec.ports[{n}]", shown))
        seen.add(key)
    return problems


def _address_problems(spec: Json) -> list[FieldError]:
    address = spec.get("clusterIP") or ""
    problems = immutable("spec.clusterIPs[0]", (spec.get("clusterIPs") or [address])[0], address)
    if address in ("", "None"):
        return problems
    try:
        ipaddress.ip_address(address)
    except ValueError:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        problems.append(invalid("spec.clusterIPs[0]", address, detail))
    return problems


def _family_problems(spec: Json) -> list[FieldError]:
    """Addresses are IPv4 here; who has none may be of any family."""
    is_loose = spec.get("clusterIP") == "None" and not spec.get("selector")
    if is_loose or spec.get("type") == "ExternalName":
        return []
    problems: list[FieldError] = []
    policy = spec.get("ipFamilyPolicy")
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        problems.append(invalid("spec.ipFamilyPolicy", policy, detail))
    problems += [
        invalid(f"spec.ipFamilies[{n}]", family, "not configured on this cluster")
        for n, family in enumerate(spec.get("ipFamilies") or ())
        if family == "IPv6"
    ]
    return problems


def _external_address(obj: Json) -> str:
    spec = obj.get("spec") or {}
    given = ",".join(spec.get("externalIPs") or ())
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    match spec.get("type"):
        case "ExternalName":
            return str(spec.get("externalName", ""))
        case "LoadBalancer":
            shown = ",".join(item.get("ip") or item.get("hostname", "") for item in ingress)
            return ",".join(item for item in (shown, given) if item) or "<pending>"
        case _:
            return given or NONE


def _shown_port(port: Json) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"
