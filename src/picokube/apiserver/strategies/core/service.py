"""Services: ports, a cluster IP, and the fields that depend on the type. Nothing routes to them."""

import hashlib
import ipaddress
from collections.abc import Iterable
from typing import Any, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    check,
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    given,
    immutable,
    invalid,
    ip_address,
    labels,
    need,
    port_number,
    port_or_name,
    required,
    supported,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import NONE, created, pairs
from picokube.schema import FieldError
from picokube.schema.go_text import Struct

NODE_PORTS: Final = range(30000, 32768)
WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_TRAFFIC_POLICY: Final = supported("Cluster", "Local")


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


def type_problems(spec: Json) -> Problems:
    """Fields of another type, and unknown policies."""
    kind = spec.get("type")
    if kind == "ClusterIP":
        for n, port in enumerate(spec.get("ports") or ()):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{n}].nodePort", "may not be used when `type` is 'ClusterIP'")
    if kind != "LoadBalancer":
        for name in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(name) is not None:
                yield forbidden(f"spec.{name}", "may only be used when `type` is 'LoadBalancer'")
    yield from check("spec", spec, ("internalTrafficPolicy", given(_TRAFFIC_POLICY)))
    yield from _external_problems(spec)


def _external_problems(spec: Json) -> Problems:
    policy, health_port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort")
    if is_externally_accessible(spec):
        yield from _TRAFFIC_POLICY("spec.externalTrafficPolicy", policy)
    elif policy:
        detail = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, detail)
    if needs_health_check(spec):
        yield from need(port_number)("spec.healthCheckNodePort", health_port)
    elif health_port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", health_port, detail)


def allocation_problems(spec: Json) -> Problems:
    """Node ports outside the range: they are found when ports are allocated, after all else is valid."""
    detail = f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS[0]}-{NODE_PORTS[-1]}"
    for n, port in enumerate(spec.get("ports") or ()):
        if port.get("nodePort") and port["nodePort"] not in NODE_PORTS:
            yield invalid(f"spec.ports[{n}].nodePort", port["nodePort"], detail)


def ignored_fields(spec: Json) -> list[str]:
    """Warnings about fields that have no effect for a service of this type."""
    is_headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    is_external = spec.get("type") == "ExternalName"
    rows = (
        (is_headless and spec.get("loadBalancerIP"), "spec.loadBalancerIP is ignored for headless services"),
        (is_headless and spec.get("externalIPs"), "spec.externalIPs is ignored for headless services"),
        (
            is_headless and spec.get("sessionAffinity") != "None",
            "spec.SessionAffinity is ignored for headless services",
        ),
        (
            is_external and spec.get("externalIPs"),
            'spec.externalIPs is ignored when spec.type is "ExternalName"',
        ),
        (
            not is_external and spec.get("externalName"),
            'spec.externalName is ignored when spec.type is not "ExternalName"',
        ),
    )
    return [warning for applies, warning in rows if applies]


RANGE: Final = ipaddress.ip_network("10.96.0.0/16")
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

    def problems(self, obj: Json) -> Iterable[FieldError]:
        spec = obj["spec"]
        return list(_family_problems(spec)) or list(_spec_problems(spec)) or list(allocation_problems(spec))

    def update_problems(self, obj: Json, old: Json) -> Iterable[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if families := list(_family_problems(spec)):
            return families
        is_external = "ExternalName" in (spec.get("type"), before.get("type"))
        new, was = spec.get("clusterIPs") or [], before.get("clusterIPs") or []
        if before.get("clusterIP") and not is_external and new[:1] != was[:1]:
            changed = invalid("spec.clusterIPs[0]", new, "may not change once set")
            return [changed, *self.problems(obj)]
        return self.problems(obj)

    def status_problems(self, obj: Json, _old: Json) -> Problems:
        given_addresses = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")
        if given_addresses and obj["spec"].get("type") != "LoadBalancer":
            detail = "may only be used when `spec.type` is 'LoadBalancer'"
            yield forbidden("status.loadBalancer.ingress", detail)

    def warnings(self, obj: Json, _old: Json | None) -> list[str]:
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


def _spec_problems(spec: Json) -> Problems:
    ports, address = spec.get("ports") or (), spec.get("clusterIP") or ""
    if spec.get("type") == "ExternalName":
        name = (spec.get("externalName") or "").removesuffix(".")
        yield from need(dns_subdomain)("spec.externalName", name)
    elif not ports and address != "None":
        yield required("spec.ports")
    names: set[str] = set()
    for n, port in enumerate(ports):
        place, name = f"spec.ports[{n}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{place}.name")
        elif name:
            yield from dns_label(f"{place}.name", name)
            if name in names:
                yield duplicate(f"{place}.name", name)
            names.add(name)
        yield from check(place, port, *_PORT_ROWS)
    yield from check("spec", spec, *_SPEC_ROWS)
    seen: set[tuple[Any, Any]] = set()
    for n, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = Struct(Name="", Protocol=key[0], AppProtocol=None, Port=key[1], TargetPort=0, NodePort=0)
            yield duplicate(f"spec.ports[{n}]", shown)
        seen.add(key)
    yield from immutable("spec.clusterIPs[0]", (spec.get("clusterIPs") or [address])[0], address)
    if address not in ("", "None"):
        yield from ip_address("spec.clusterIPs[0]", address)
    yield from type_problems(spec)


_PORT_ROWS: Final = (
    ("port", lambda field, value: port_number(field, value or 0)),
    ("protocol", supported("SCTP", "TCP", "UDP")),
    ("targetPort", port_or_name),
)
_SPEC_ROWS: Final = (
    ("selector", labels),
    ("sessionAffinity", supported("ClientIP", "None")),
    ("type", supported("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")),
)


def _family_problems(spec: Json) -> Problems:
    """Addresses are IPv4; a service without an address may have any family."""
    is_loose = spec.get("clusterIP") == "None" and not spec.get("selector")
    if is_loose or spec.get("type") == "ExternalName":
        return
    if (policy := spec.get("ipFamilyPolicy")) == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", policy, detail)
    for n, family in enumerate(spec.get("ipFamilies") or ()):
        if family == "IPv6":
            yield invalid(f"spec.ipFamilies[{n}]", family, "not configured on this cluster")


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
