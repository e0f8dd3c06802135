"""Ingresses and NetworkPolicies: validated and stored; nothing acts on them."""

import ipaddress
import re
from typing import Any, ClassVar, Final

from picokube.apiserver.kinds.names import SUBDOMAIN_LENGTH
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    check,
    dns_1035_label,
    dns_subdomain,
    each,
    forbidden,
    given,
    invalid,
    ip_address,
    is_ip_address,
    label_selector,
    members,
    need,
    nonempty,
    not_supported,
    path_segment,
    port_name,
    port_number,
    required,
    supported,
)
from picokube.apiserver.strategies.kind import StoredOnly
from picokube.apiserver.strategies.printing import NONE, created, first_three, selector

MAX_POLICY_TYPES: Final = 2
_CLASS: Final = "kubernetes.io/ingress.class"
_WILDCARD_PATTERN: Final = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WILDCARD: Final = re.compile(_WILDCARD_PATTERN)
_WILDCARD_RULE: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    f"regex used for validation is '{_WILDCARD_PATTERN}')"
)
_BAD_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


# -- Ingresses ---------------------------------------------------------------------------------------------------


def _not_address(field: str, host: str) -> Problems:
    if is_ip_address(host):
        yield invalid(field, host, "must be a DNS name, not an IP address")


def _host(field: str, host: str) -> Problems:
    if "*" not in host:
        yield from dns_subdomain(field, host)
        return
    if len(host) > SUBDOMAIN_LENGTH:
        yield invalid(field, host, f"must be no more than {SUBDOMAIN_LENGTH} characters")
    if not _WILDCARD.fullmatch(host):
        yield invalid(field, host, _WILDCARD_RULE)


def _backend_service(field: str, service: Json) -> Problems:
    yield from need(dns_1035_label)(f"{field}.service.name", service.get("name"))
    port = service.get("port") or {}
    named, number = port.get("name"), port.get("number")
    if named and number:
        yield invalid(field, "", "cannot set both port name & port number")
    elif named:
        yield from port_name(f"{field}.service.port.name", named)
    elif number:
        yield from port_number(f"{field}.service.port.number", number)
    else:
        yield required(field, "port name or number is required")


_BACKEND_RESOURCE: Final = members(
    ("apiGroup", given(dns_subdomain)), ("kind", need(path_segment)), ("name", need(path_segment))
)


def _backend(field: str, backend: Json | None) -> Problems:
    found = backend or {}
    resource, service = found.get("resource"), found.get("service")
    if resource is not None and service is not None:
        yield invalid(field, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _BACKEND_RESOURCE(f"{field}.resource", resource)
    elif service is not None:
        yield from _backend_service(field, service)
    else:
        yield invalid(field, "", "resource or service backend is required")


def _path(field: str, found: Json) -> Problems:
    kind, path = found.get("pathType"), found.get("path", "")
    if kind is None:
        yield required(f"{field}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{field}.pathType", kind, _PATH_TYPES)
    elif not path.startswith("/") and (path or kind != "ImplementationSpecific"):
        yield invalid(f"{field}.path", path, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        wrong = [f"must not contain '{part}'" for part in _BAD_IN_PATHS if part in path]
        wrong += [f"cannot end with '{end}'" for end in _BAD_ENDS if path.endswith(end)]
        yield from (invalid(f"{field}.path", path, detail) for detail in wrong)
    yield from _backend(f"{field}.backend", found.get("backend"))


def _rule_host(field: str, host: str) -> Problems:
    yield from _not_address(field, host)
    yield from _host(field, host)


_INGRESS_ROWS: Final = (
    ("defaultBackend", given(_backend)),
    (
        "rules",
        each(
            members(
                ("host", nonempty(_rule_host)),
                ("http", given(members(("paths", need()), ("paths", each(_path))))),
            )
        ),
    ),
    ("tls", each(members(("hosts", each(_host)), ("secretName", nonempty(dns_subdomain))))),
    ("ingressClassName", given(dns_subdomain)),
)


def _host_name(field: str, host: str) -> Problems:
    yield from dns_subdomain(field, host)
    yield from _not_address(field, host)


_LOAD_BALANCER: Final = members(
    ("ingress", each(members(("ip", nonempty(ip_address)), ("hostname", nonempty(_host_name)))))
)


class Ingress(StoredOnly):
    plural: ClassVar = "Ingresses"

    def problems(self, obj: Json) -> Problems:
        yield from self.update_problems(obj, {})
        stated = (obj["metadata"].get("annotations") or {}).get(_CLASS)
        if stated is not None and obj["spec"].get("ingressClassName") not in (None, stated):
            detail = "must match `ingressClassName` when both are specified"
            yield invalid(f"annotations.{_CLASS}", stated, detail)

    def update_problems(self, obj: Json, _old: Json) -> Problems:
        spec = obj["spec"]
        if not spec.get("rules") and spec.get("defaultBackend") is None:
            yield invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
        yield from check("spec", spec, *_INGRESS_ROWS)

    def status_problems(self, obj: Json, _old: Json) -> Problems:
        return check("status", obj.get("status"), ("loadBalancer", _LOAD_BALANCER))

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec = obj.get("spec") or {}
        hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        return [
            spec.get("ingressClassName") or NONE,
            first_three(hosts) or "*",
            ",".join(item.get("ip") or item.get("hostname", "") for item in ingress),
            "80, 443" if spec.get("tls") else "80",
            created(obj),
        ]


# -- NetworkPolicies ---------------------------------------------------------------------------------------------


def _policy_port(field: str, found: Json) -> Problems:
    yield from given(supported("TCP", "UDP", "SCTP"))(f"{field}.protocol", found.get("protocol"))
    port, end = found.get("port"), found.get("endPort")
    if isinstance(port, int):
        yield from port_number(f"{field}.port", port)
        if end is not None and end < port:
            yield invalid(f"{field}.endPort", port, "must be greater than or equal to `port`")
        yield from port_number(f"{field}.endPort", end)
        return
    if end is not None:
        why = "is not specified" if port is None else "is non-numeric"
        yield invalid(f"{field}.endPort", end, f"may not be specified when `port` {why}")
    yield from given(port_name)(f"{field}.port", port)


def _ip_block(field: str, block: Json) -> Problems:
    text = block.get("cidr", "")
    if not text:
        yield required(f"{field}.cidr")
        return
    whole = _network(text)
    if whole is None:
        yield invalid(f"{field}.cidr", text, _CIDR)
        return
    for n, item in enumerate(block.get("except") or ()):
        part = _network(item)
        if part is None:
            yield invalid(f"{field}.except[{n}]", item, _CIDR)
        elif whole.version != part.version or not part.subnet_of(whole) or part == whole:
            yield invalid(f"{field}.except[{n}]", item, "must be a strict subset of `cidr`")


def _network(text: str) -> Any:
    """The network of a CIDR; None for any other text."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None


_PEER_RULES: Final = (
    ("podSelector", label_selector),
    ("namespaceSelector", label_selector),
    ("ipBlock", given(_ip_block)),
)


def _peer(field: str, peer: Json) -> Problems:
    yield from check(field, peer, *_PEER_RULES)
    stated = [name for name, _ in _PEER_RULES if peer.get(name) is not None]
    if not stated:
        yield required(field, "must specify a peer")
    elif "ipBlock" in stated and len(stated) > 1:
        yield forbidden(field, "may not specify both ipBlock and another peer")


def _policy_types(field: str, types: list[str] | None) -> Problems:
    if len(types or ()) > MAX_POLICY_TYPES:
        yield invalid(field, types, "may not specify more than two policyTypes")
    else:
        yield from each(supported("Ingress", "Egress"))(field, types)


def _traffic(peers: str) -> Any:
    return each(members(("ports", each(_policy_port)), (peers, each(_peer))))


class NetworkPolicy(StoredOnly):
    plural: ClassVar = "NetworkPolicies"
    rules: ClassVar = (
        (
            "spec",
            members(
                ("podSelector", label_selector),
                ("ingress", _traffic("from")),
                ("egress", _traffic("to")),
                ("policyTypes", _policy_types),
            ),
        ),
    )

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [selector((obj.get("spec") or {}).get("podSelector")), created(obj)]
