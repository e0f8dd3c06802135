"""Validates the containers of a pod: ports, environment, mounts, resources, probes and hooks."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.kinds.names import qualified_name_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import (
    MAX_INT32,
    Problems,
    Rule,
    at_least,
    check,
    config_key_problems,
    dns_label,
    dns_subdomain,
    duplicate,
    each,
    forbidden,
    given,
    invalid,
    members,
    need,
    non_negative,
    nonempty,
    not_supported,
    one_of,
    port_name,
    port_number,
    port_or_name,
    required,
    supported,
    text,
    within,
)
from picokube.schema import ErrorType, FieldError

_ENV_NAME: Final = re.compile(r"[ -<>-~]+")
_ENV_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_FIELDS: Final = frozenset(
    {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
        "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
    }
)  # fmt: skip
_KNOWN_FIELDS: Final = _FIELDS | {
    "metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "spec.hostNetwork",
    "status.phase", "status.nominatedNodeName",
}  # fmt: skip
_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_ENV_SOURCES: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_NOT_IN_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")


# -- ports and environment ---------------------------------------------------------------------------------------

_PORT_ROWS: Final = (
    ("containerPort", need(port_number)),
    ("hostPort", nonempty(port_number)),
    ("protocol", one_of("SCTP", "TCP", "UDP")),
)


def _ports(field: str, ports: Sequence[Json] | None) -> Problems:
    names: set[str] = set()
    for n, port in enumerate(ports or ()):
        place = f"{field}[{n}]"
        if name := port.get("name"):
            found = list(port_name(f"{place}.name", name))
            yield from found
            if not found and name in names:
                yield duplicate(f"{place}.name", name)
            names.add(name)
        yield from check(place, port, *_PORT_ROWS)


def _env_name(field: str, name: str) -> Problems:
    if not _ENV_NAME.fullmatch(name):
        yield invalid(field, name, _ENV_RULE)


def _field_reference(field: str, ref: Json) -> Problems:
    path = ref.get("fieldPath", "")
    if not ref.get("apiVersion"):
        yield required(f"{field}.apiVersion")
    elif not path:
        yield required(f"{field}.fieldPath")
    elif not (re.fullmatch(r"metadata\.(labels|annotations)\['.+'\]", path) or path in _FIELDS):
        if path in _KNOWN_FIELDS:
            yield not_supported(f"{field}.fieldPath", path, sorted(_FIELDS))
        else:
            detail = f"error converting fieldPath: field label not supported: {path}"
            yield invalid(f"{field}.fieldPath", path, detail)


_KEY: Final = members(("name", dns_subdomain), ("key", need(text(config_key_problems))))
_SOURCES: Final = {
    "fieldRef": given(_field_reference),
    "resourceFieldRef": given(members(("resource", need()))),
    "configMapKeyRef": given(_KEY),
    "secretKeyRef": given(_KEY),
}


def _variable(field: str, env: Json) -> Problems:
    yield from need(_env_name)(f"{field}.name", env.get("name"))
    source = env.get("valueFrom")
    if source is None:
        return
    yield from check(f"{field}.valueFrom", source, *_SOURCES.items())
    named = [name for name in (*_SOURCES, "fileKeyRef") if source.get(name) is not None]
    if env.get("value") and named:
        yield invalid(f"{field}.valueFrom", "", "may not be specified when `value` is not empty")
    elif not named:
        yield invalid(f"{field}.valueFrom", "", _ENV_SOURCES)
    elif len(named) > 1:
        yield invalid(f"{field}.valueFrom", "", "may not have more than one field specified at a time")


_REFERENCE: Final = given(members(("name", need(dns_subdomain))))
_ENV_FROM_ROWS: Final = (
    ("prefix", nonempty(_env_name)),
    ("configMapRef", _REFERENCE),
    ("secretRef", _REFERENCE),
)


def _env_from(field: str, sources: Sequence[Json] | None) -> Problems:
    for n, item in enumerate(sources or ()):
        yield from check(f"{field}[{n}]", item, *_ENV_FROM_ROWS)
        named = [name for name in ("configMapRef", "secretRef") if item.get(name) is not None]
        if not named:
            yield invalid(field, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(named) > 1:
            yield invalid(field, "", "may not have more than one field specified at a time")


# -- mounts and resources ----------------------------------------------------------------------------------------


def relative_path(field: str, path: str) -> Problems:
    """A path that stays below the directory that it is relative to."""
    if path.startswith("/"):
        yield invalid(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield invalid(field, path, "must not contain '..'")


def _mounts(field: str, mounts: Sequence[Json], volumes: set[str]) -> Problems:
    paths: set[str] = set()
    for n, mount in enumerate(mounts):
        place, name, path = f"{field}[{n}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            yield required(f"{place}.name")
        if name not in volumes:
            yield FieldError(type=ErrorType.NOT_FOUND, field=f"{place}.name", bad_value=name)
        if not path:
            yield required(f"{place}.mountPath")
        if path in paths:
            yield invalid(f"{place}.mountPath", path, "must be unique")
        paths.add(path)
        yield from relative_path(f"{field}.subPath", mount.get("subPath", ""))


def _resources(field: str, resources: Json | None) -> Problems:
    found = resources or {}
    limits, requests = found.get("limits") or {}, found.get("requests") or {}
    for name, amount in limits.items():
        yield from _amount(f"{field}.limits[{name}]", name, amount)
    for name, amount in requests.items():
        yield from _amount(f"{field}.requests[{name}]", name, amount)
        if name not in limits:
            continue
        limit, may_overcommit = limits[name], "/" not in name and not name.startswith("hugepages-")
        if not may_overcommit and quantity_value(amount) != quantity_value(limit):
            yield invalid(f"{field}.requests", amount, f"must be equal to {name} limit of {limit}")
        elif quantity_value(amount) > quantity_value(limit):
            yield invalid(
                f"{field}.requests", amount, f"must be less than or equal to {name} limit of {limit}"
            )


def _amount(field: str, name: str, amount: str) -> Problems:
    problems = qualified_name_problems(name)
    if not problems and "/" not in name and name not in _RESOURCES and not name.startswith("hugepages-"):
        problems = [
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        ]
    yield from (invalid(field, name, problem) for problem in problems)
    value = quantity_value(amount)
    if value < 0:
        yield invalid(field, amount, "must be greater than or equal to 0")
    elif name not in _RESOURCES and value != value.to_integral_value(rounding="ROUND_FLOOR") and not problems:
        yield invalid(field, Decimal(amount) if amount.isdigit() else amount, "must be an integer")


# -- probes and hooks --------------------------------------------------------------------------------------------

_HANDLER_RULES: Final = {
    "exec": members(("command", need())),
    "httpGet": members(("path", need()), ("port", port_or_name), ("scheme", one_of("HTTP", "HTTPS"))),
    "tcpSocket": members(("port", port_or_name)),
    "grpc": members(("port", port_or_name)),
}


def _handler(field: str, handler: Json) -> Problems:
    named = [name for name in _HANDLERS if handler.get(name) is not None]
    if not named:
        yield required(field, "must specify a handler type")
        return
    for name in named[1:]:
        yield forbidden(f"{field}.{name}", "may not specify more than 1 handler type")
    if rule := _HANDLER_RULES.get(named[0]):
        yield from rule(f"{field}.{named[0]}", handler[named[0]])


_PROBE_ROWS: Final = (
    *(
        (name, non_negative)
        for name in (
            "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"
        )
    ),
    ("terminationGracePeriodSeconds", at_least(1, "must be greater than 0")),
)  # fmt: skip


def _probe(field: str, probe: Json) -> Problems:
    yield from _handler(field, probe)
    yield from check(field, probe, *_PROBE_ROWS)


def _single_success_probe(field: str, probe: Json) -> Problems:
    yield from _probe(field, probe)
    if probe.get("successThreshold", 1) != 1:
        yield invalid(f"{field}.successThreshold", probe["successThreshold"], "must be 1")


_RUNNING_ROWS: Final = (
    ("lifecycle", members(("postStart", given(_handler)), ("preStop", given(_handler)))),
    ("livenessProbe", given(_single_success_probe)),
    ("readinessProbe", given(_probe)),
    ("startupProbe", given(_single_success_probe)),
)
"""Hooks and probes, which only containers that keep running have."""


# -- containers --------------------------------------------------------------------------------------------------

_USER_ROWS: Final = (("runAsUser", within(0, MAX_INT32)), ("runAsGroup", within(0, MAX_INT32)))


def _security(field: str, context: Json | None) -> Problems:
    found = context or {}
    yield from check(field, found, *_USER_ROWS)
    if found.get("allowPrivilegeEscalation") is False:
        if found.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(field, dict(found), detail)
        if "CAP_SYS_ADMIN" in ((found.get("capabilities") or {}).get("add") or ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield invalid(field, dict(found), detail)


_BEFORE_MOUNTS: Final[tuple[tuple[str, Rule], ...]] = (
    ("name", need(dns_label)),
    ("image", need()),
    ("terminationMessagePolicy", one_of("File", "FallbackToLogsOnError")),
    ("ports", _ports),
    ("env", each(_variable)),
    ("envFrom", _env_from),
)
_AFTER_MOUNTS: Final[tuple[tuple[str, Rule], ...]] = (
    ("imagePullPolicy", one_of("Always", "IfNotPresent", "Never")),
    ("resources", _resources),
    ("securityContext", _security),
)


def _container(field: str, container: Json, volumes: set[str]) -> Problems:
    yield from check(field, container, *_BEFORE_MOUNTS)
    yield from _mounts(f"{field}.volumeMounts", container.get("volumeMounts") or (), volumes)
    yield from check(field, container, *_AFTER_MOUNTS)


def container_problems(field: str, containers: Sequence[Json], volumes: set[str]) -> Problems:
    """Validate the regular containers."""
    if not containers:
        yield required(field)
    names: set[str] = set()
    for n, item in enumerate(containers):
        yield from _container(f"{field}[{n}]", item, volumes)
        if item.get("name", "") in names:
            yield duplicate(f"{field}[{n}].name", item.get("name", ""))
        names.add(item.get("name", ""))
        yield from check(f"{field}[{n}]", item, *_RUNNING_ROWS)
    yield from _host_ports(field, containers)


def init_container_problems(
    field: str, containers: Sequence[Json], regular: Sequence[Json], volumes: set[str]
) -> Problems:
    """Validate init containers. Those that always restart are sidecars, which have hooks and probes."""
    names = {item.get("name", "") for item in regular}
    for n, item in enumerate(containers):
        place, name, policy = f"{field}[{n}]", item.get("name", ""), item.get("restartPolicy")
        yield from _container(place, item, volumes)
        yield from given(supported(*_RESTART_POLICIES))(f"{place}.restartPolicy", policy)
        if name in names:
            yield duplicate(f"{place}.name", name)
        elif name:
            names.add(name)
        yield from _host_ports(field, [item])
        if policy == "Always":
            yield from check(place, item, *_RUNNING_ROWS)
        else:
            for part in ("lifecycle", *_PROBES):
                if item.get(part) is not None:
                    yield forbidden(f"{place}.{part}", _NOT_IN_INIT)


def _host_ports(field: str, containers: Sequence[Json]) -> Problems:
    seen: set[tuple[Any, ...]] = set()
    for n, container in enumerate(containers):
        for m, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = (port.get("protocol"), port.get("hostIP", ""), port["hostPort"])
            if key in seen:
                yield duplicate(f"{field}[{n}].ports[{m}].hostPort", "/".join(map(str, key)))
            seen.add(key)
