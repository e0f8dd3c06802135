"""What is wrong with an Ingress or a NetworkPolicy, in kube-apiserver's words. Pure."""

import ipaddress
import re
from typing import Any, Final

from picokube.apiserver.kinds.names import SUBDOMAIN_LENGTH, label_1035_problems, path_segment_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import (
    dns_subdomain,
    forbidden,
    invalid,
    ip_address,
    label_selector,
    not_supported,
    port_name_problems,
    port_number,
    required,
)
from picokube.schema import FieldError

MAX_POLICY_TYPES: Final = 2
_CLASS: Final = "kubernetes.io/ingress.class"
_WILDCARD_PATTERN: Final = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_WILDCARD: Final = re.compile(_WILDCARD_PATTERN)
_BAD_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS: Final = ("/..", "/.")
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")
_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_NOT_AN_ADDRESS: Final = "must be a DNS name, not an IP address"


# -- Ingresses ---------------------------------------------------------------------------------------------------


def ingress_problems(spec: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    backend, rules = spec.get("defaultBackend"), spec.get("rules") or ()
    if not rules and backend is None:
        problems.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        problems += _backend_problems("spec.defaultBackend", backend)
    for n, rule in enumerate(rules):
        problems += _rule_problems(f"spec.rules[{n}]", rule)
    for n, tls in enumerate(spec.get("tls") or ()):
        for index, host in enumerate(tls.get("hosts") or ()):
            problems += _host_problems(f"spec.tls[{n}].hosts[{index}]", host)
        if tls.get("secretName"):
            problems += dns_subdomain(f"spec.tls[{n}].secretName", tls["secretName"])
    name = spec.get("ingressClassName")
    return problems + (dns_subdomain("spec.ingressClassName", name) if name is not None else [])


def ingress_class_problems(obj: Json) -> list[FieldError]:
    """The annotation from before the field, of a new Ingress."""
    stated = (obj["metadata"].get("annotations") or {}).get(_CLASS)
    name = obj["spec"].get("ingressClassName")
    if stated is None or name is None or stated == name:
        return []
    return [invalid(f"annotations.{_CLASS}", stated, "must match `ingressClassName` when both are specified")]


def ingress_status_problems(status: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, item in enumerate((status.get("loadBalancer") or {}).get("ingress") or ()):
        field = f"status.loadBalancer.ingress[{n}]"
        if item.get("ip"):
            problems += ip_address(f"{field}.ip", item["ip"])
        if host := item.get("hostname"):
            problems += dns_subdomain(f"{field}.hostname", host)
            if _is_address(host):
                problems.append(invalid(f"{field}.hostname", host, _NOT_AN_ADDRESS))
    return problems


def _rule_problems(field: str, rule: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    if host := rule.get("host"):
        if _is_address(host):
            problems.append(invalid(f"{field}.host", host, _NOT_AN_ADDRESS))
        problems += _host_problems(f"{field}.host", host)
    http = rule.get("http")
    if http is None:
        return problems
    if not http.get("paths"):
        problems.append(required(f"{field}.http.paths"))
    for n, path in enumerate(http.get("paths") or ()):
        problems += _path_problems(f"{field}.http.paths[{n}]", path)
    return problems


def _host_problems(field: str, host: str) -> list[FieldError]:
    if "*" not in host:
        return dns_subdomain(field, host)
    problems: list[FieldError] = []
    if len(host) > SUBDOMAIN_LENGTH:
        problems.append(invalid(field, host, f"must be no more than {SUBDOMAIN_LENGTH} characters"))
    if not _WILDCARD.fullmatch(host):
        detail = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. "
            f"'*.example.com', regex used for validation is '{_WILDCARD_PATTERN}')"
        )
        problems.append(invalid(field, host, detail))
    return problems


def _path_problems(field: str, found: Json) -> list[FieldError]:
    kind, path = found.get("pathType"), found.get("path", "")
    if kind is None:
        return [required(f"{field}.pathType", "pathType must be specified")]
    problems: list[FieldError] = []
    if kind not in _PATH_TYPES:
        problems.append(not_supported(f"{field}.pathType", kind, _PATH_TYPES))
    elif not path.startswith("/") and (path or kind != "ImplementationSpecific"):
        problems.append(invalid(f"{field}.path", path, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        wrong = [f"must not contain '{bad_in_path}'" for bad_in_path in _BAD_IN_PATHS if bad_in_path in path]
        wrong += [f"cannot end with '{bad_end}'" for bad_end in _BAD_ENDS if path.endswith(bad_end)]
        problems += [invalid(f"{field}.path", path, detail) for detail in wrong]
    return problems + _backend_problems(f"{field}.backend", found.get("backend") or {})


def _backend_problems(field: str, backend: Json) -> list[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    match resource is not None, service is not None:
        case True, True:
            return [invalid(field, "", "cannot set both resource and service backends")]
        case True, False:
            return _resource_problems(f"{field}.resource", resource or {})
        case False, True:
            return _service_problems(field, service or {})
        case _:
            return [invalid(field, "", "resource or service backend is required")]


def _resource_problems(field: str, resource: Json) -> list[FieldError]:
    group = resource.get("apiGroup")
    problems = dns_subdomain(f"{field}.apiGroup", group) if group is not None else []
    for name in ("kind", "name"):
        value = resource.get(name, "")
        wrong = [invalid(f"{field}.{name}", value, problem) for problem in path_segment_problems(value)]
        problems += wrong if value else [required(f"{field}.{name}")]
    return problems


def _service_problems(field: str, service: Json) -> list[FieldError]:
    name, port = service.get("name", ""), service.get("port") or {}
    if name:
        problems = [
            invalid(f"{field}.service.name", name, label_1035_problem)
            for label_1035_problem in label_1035_problems(name)
        ]
    else:
        problems = [required(f"{field}.service.name")]
    named, number = port.get("name"), port.get("number")
    if named and number:
        problems.append(invalid(field, "", "cannot set both port name & port number"))
    elif named:
        problems += [
            invalid(f"{field}.service.port.name", named, port_name_problem)
            for port_name_problem in port_name_problems(named)
        ]
    elif number:
        problems += port_number(f"{field}.service.port.number", number)
    else:
        problems.append(required(field, "port name or number is required"))
    return problems


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# -- NetworkPolicies ---------------------------------------------------------------------------------------------


def network_policy_problems(spec: Json) -> list[FieldError]:
    problems = label_selector("spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for n, rule in enumerate(spec.get(direction) or ()):
            field = f"spec.{direction}[{n}]"
            for index, port in enumerate(rule.get("ports") or ()):
                problems += _policy_port_problems(f"{field}.ports[{index}]", port)
            for index, peer in enumerate(rule.get(peers) or ()):
                problems += _peer_problems(f"{field}.{peers}[{index}]", peer)
    types = spec.get("policyTypes") or []
    if len(types) > MAX_POLICY_TYPES:
        problems.append(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
        return problems
    return problems + [
        not_supported(f"spec.policyTypes[{n}]", item, _POLICY_TYPES)
        for n, item in enumerate(types)
        if item not in _POLICY_TYPES
    ]


def _policy_port_problems(field: str, found: Json) -> list[FieldError]:
    protocol, port, end = found.get("protocol"), found.get("port"), found.get("endPort")
    problems: list[FieldError] = []
    if protocol is not None and protocol not in _PROTOCOLS:
        problems.append(not_supported(f"{field}.protocol", protocol, _PROTOCOLS))
    if isinstance(port, int):
        problems += port_number(f"{field}.port", port)
        if end is not None and end < port:
            problems.append(invalid(f"{field}.endPort", port, "must be greater than or equal to `port`"))
        return problems + (port_number(f"{field}.endPort", end) if end is not None else [])
    if end is not None:
        why = "is not specified" if port is None else "is non-numeric"
        problems.append(invalid(f"{field}.endPort", end, f"may not be specified when `port` {why}"))
    if port is not None:
        problems += [
            invalid(f"{field}.port", port, port_name_problem)
            for port_name_problem in port_name_problems(port)
        ]
    return problems


def _peer_problems(field: str, peer: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    stated = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in stated:
        if name == "ipBlock":
            problems += _block_problems(f"{field}.ipBlock", peer["ipBlock"])
        else:
            problems += label_selector(f"{field}.{name}", peer[name])
    if not stated:
        problems.append(required(field, "must specify a peer"))
    elif "ipBlock" in stated and len(stated) > 1:
        problems.append(forbidden(field, "may not specify both ipBlock and another peer"))
    return problems


def _block_problems(field: str, block: Json) -> list[FieldError]:
    text = block.get("cidr", "")
    if not text:
        return [required(f"{field}.cidr")]
    whole = _network(text)
    if whole is None:
        return [invalid(f"{field}.cidr", text, _CIDR)]
    problems: list[FieldError] = []
    for n, item in enumerate(block.get("except") or ()):
        part = _network(item)
        if part is None:
            problems.append(invalid(f"{field}.except[{n}]", item, _CIDR))
        elif whole.version != part.version or not part.subnet_of(whole) or part == whole:
            problems.append(invalid(f"{field}.except[{n}]", item, "must be a strict subset of `cidr`"))
    return problems


def _network(text: str) -> Any:
    """The network that a CIDR names; None for a text that is none."""
    try:
        return ipaddress.ip_network(text, strict=False) if "/" in text else None
    except ValueError:
        return None
