"""Validates the containers of a pod: ports, environment, mounts, resources, probes and hooks."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.kinds.names import qualified_name_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import (
    config_key_problems,
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    invalid,
    non_negative,
    not_supported,
    one_of,
    port_name_problems,
    port_number,
    port_or_name,
    required,
)
from picokube.schema import ErrorType, FieldError

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
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
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.hostNetwork",
    "status.phase",
    "status.nominatedNodeName",
}
_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ENV_SOURCES: Final = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)


def port_problems(field: str, ports: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    names: set[str] = set()
    for n, port in enumerate(ports):
        place = f"{field}[{n}]"
        if name := port.get("name"):
            found = port_name_problems(name)
            problems += [invalid(f"{place}.name", name, item) for item in found]
            if not found and name in names:
                problems.append(duplicate(f"{place}.name", name))
            names.add(name)
        if not port.get("containerPort"):
            problems.append(required(f"{place}.containerPort"))
        else:
            problems += port_number(f"{place}.containerPort", port["containerPort"])
        if port.get("hostPort"):
            problems += port_number(f"{place}.hostPort", port["hostPort"])
        problems += one_of(f"{place}.protocol", port.get("protocol"), _PROTOCOLS)
    return problems


def env_problems(field: str, env: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, item in enumerate(env):
        place = f"{field}[{n}]"
        name = item.get("name", "")
        if not name:
            problems.append(required(f"{place}.name"))
        elif not _ENV_NAME.fullmatch(name):
            problems.append(invalid(f"{place}.name", name, _ENV_RULE))
        if item.get("valueFrom") is not None:
            problems += _source_problems(f"{place}.valueFrom", item)
    return problems


def _source_problems(field: str, env: Json) -> list[FieldError]:
    source = env["valueFrom"]
    problems: list[FieldError] = []
    if (ref := source.get("fieldRef")) is not None:
        problems += _field_problems(f"{field}.fieldRef", ref)
    if (ref := source.get("resourceFieldRef")) is not None and not ref.get("resource"):
        problems.append(required(f"{field}.resourceFieldRef.resource"))
    for name in ("configMapKeyRef", "secretKeyRef"):
        if (ref := source.get(name)) is not None:
            problems += _key_problems(f"{field}.{name}", ref)
    named = [name for name in _SOURCES if source.get(name) is not None]
    if env.get("value") and named:
        problems.append(invalid(field, "", "may not be specified when `value` is not empty"))
    elif not named:
        problems.append(invalid(field, "", _ENV_SOURCES))
    elif len(named) > 1:
        problems.append(invalid(field, "", "may not have more than one field specified at a time"))
    return problems


def _field_problems(field: str, ref: Json) -> list[FieldError]:
    path = ref.get("fieldPath", "")
    if not ref.get("apiVersion"):
        return [required(f"{field}.apiVersion")]
    if not path:
        return [required(f"{field}.fieldPath")]
    if re.fullmatch(r"metadata\.(labels|annotations)\['.+'\]", path) or path in _FIELDS:
        return []
    if path not in _KNOWN_FIELDS:
        detail = f"error converting fieldPath: field label not supported: {path}"
        return [invalid(f"{field}.fieldPath", path, detail)]
    allowed = [*sorted(_FIELDS)]
    return [not_supported(f"{field}.fieldPath", path, allowed)]


def _key_problems(field: str, ref: Json) -> list[FieldError]:
    problems = dns_subdomain(f"{field}.name", ref.get("name", ""))
    key = ref.get("key", "")
    if not key:
        return [*problems, required(f"{field}.key")]
    return [
        *problems,
        *(
            invalid(f"{field}.key", key, config_key_problem)
            for config_key_problem in config_key_problems(key)
        ),
    ]


def env_from_problems(field: str, sources: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, item in enumerate(sources):
        place = f"{field}[{n}]"
        prefix = item.get("prefix", "")
        if prefix and not _ENV_NAME.fullmatch(prefix):
            problems.append(invalid(f"{place}.prefix", prefix, _ENV_RULE))
        named = [name for name in ("configMapRef", "secretRef") if item.get(name) is not None]
        for name in named:
            ref = item[name].get("name", "")
            problems += (
                [required(f"{place}.{name}.name")] if not ref else dns_subdomain(f"{place}.{name}.name", ref)
            )
        if not named:
            problems.append(invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(named) > 1:
            problems.append(invalid(field, "", "may not have more than one field specified at a time"))
    return problems


def mount_problems(field: str, mounts: Sequence[Json], volumes: set[str]) -> list[FieldError]:
    problems: list[FieldError] = []
    paths: set[str] = set()
    for n, mount in enumerate(mounts):
        place, name, path = f"{field}[{n}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            problems.append(required(f"{place}.name"))
        if name not in volumes:
            problems.append(FieldError(type=ErrorType.NOT_FOUND, field=f"{place}.name", bad_value=name))
        if not path:
            problems.append(required(f"{place}.mountPath"))
        if path in paths:
            problems.append(invalid(f"{place}.mountPath", path, "must be unique"))
        paths.add(path)
        if sub := mount.get("subPath"):
            problems += relative_path_problems(f"{field}.subPath", sub)
    return problems


def relative_path_problems(field: str, path: str) -> list[FieldError]:
    """A path that stays below where it starts."""
    problems = [invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    if ".." in path.split("/"):
        problems.append(invalid(field, path, "must not contain '..'"))
    return problems


def resource_problems(field: str, resources: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, text in limits.items():
        problems += _amount_problems(f"{field}.limits[{name}]", name, text)
    for name, text in requests.items():
        place = f"{field}.requests[{name}]"
        problems += _amount_problems(place, name, text)
        if name not in limits:
            continue
        if not _is_overcommittable(name) and quantity_value(text) != quantity_value(limits[name]):
            detail = f"must be equal to {name} limit of {limits[name]}"
            problems.append(invalid(f"{field}.requests", text, detail))
        elif quantity_value(text) > quantity_value(limits[name]):
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            problems.append(invalid(f"{field}.requests", text, detail))
    return problems


def _is_overcommittable(name: str) -> bool:
    return "/" not in name and not name.startswith("hugepages-")


def _amount_problems(place: str, name: str, text: str) -> list[FieldError]:
    problems = [invalid(place, name, problem) for problem in qualified_name_problems(name)]
    if not problems and "/" not in name and name not in _RESOURCES and not name.startswith("hugepages-"):
        problems = [
            invalid(place, name, "must be a standard resource type or fully qualified"),
            invalid(place, name, "must be a standard resource for containers"),
        ]
    value = quantity_value(text)
    if value < 0:
        problems.append(invalid(place, text, "must be greater than or equal to 0"))
    elif name not in _RESOURCES and value != value.to_integral_value(rounding="ROUND_FLOOR") and not problems:
        problems.append(invalid(place, Decimal(text) if text.isdigit() else text, "must be an integer"))
    return problems


def forbidden_parts(field: str, container: Json, names: Sequence[str], why: str) -> list[FieldError]:
    return [forbidden(f"{field}.{name}", why) for name in names if container.get(name) is not None]


_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_NOT_IN_INIT: Final = "may not be set for init containers without restartPolicy=Always"
_MAX_INT32: Final = 2**31 - 1


def container_problems(field: str, containers: Sequence[Json], volumes: set[str]) -> list[FieldError]:
    """Of the regular containers."""
    if not containers:
        return [required(field)]
    problems: list[FieldError] = []
    names: set[str] = set()
    for n, item in enumerate(containers):
        place = f"{field}[{n}]"
        problems += _common(place, item, volumes)
        if item.get("name", "") in names:
            problems.append(duplicate(f"{place}.name", item.get("name", "")))
        names.add(item.get("name", ""))
        problems += _running_parts(place, item)
    return [*problems, *_host_port_problems(field, containers)]


def init_container_problems(
    field: str, containers: Sequence[Json], regular: Sequence[Json], volumes: set[str]
) -> list[FieldError]:
    problems: list[FieldError] = []
    names = {item.get("name", "") for item in regular}
    for n, item in enumerate(containers):
        place, name = f"{field}[{n}]", item.get("name", "")
        problems += _common(place, item, volumes)
        policy = item.get("restartPolicy")
        if policy is not None and policy not in ("Always", "OnFailure", "Never"):
            problems.append(not_supported(f"{place}.restartPolicy", policy, ("Always", "OnFailure", "Never")))
        if name in names:
            problems.append(duplicate(f"{place}.name", name))
        elif name:
            names.add(name)
        problems += _host_port_problems(field, [item])
        if policy == "Always":
            problems += _running_parts(place, item)
        else:
            problems += forbidden_parts(place, item, ("lifecycle", *_PROBES), _NOT_IN_INIT)
    return problems


def _common(place: str, container: Json, volumes: set[str]) -> list[FieldError]:
    name = container.get("name", "")
    problems = dns_label(f"{place}.name", name) if name else [required(f"{place}.name")]
    if not container.get("image"):
        problems.append(required(f"{place}.image"))
    problems += one_of(
        f"{place}.terminationMessagePolicy",
        container.get("terminationMessagePolicy"),
        ("File", "FallbackToLogsOnError"),
    )
    problems += port_problems(f"{place}.ports", container.get("ports") or ())
    problems += env_problems(f"{place}.env", container.get("env") or ())
    problems += env_from_problems(f"{place}.envFrom", container.get("envFrom") or ())
    problems += mount_problems(f"{place}.volumeMounts", container.get("volumeMounts") or (), volumes)
    problems += one_of(
        f"{place}.imagePullPolicy", container.get("imagePullPolicy"), ("Always", "IfNotPresent", "Never")
    )
    problems += resource_problems(f"{place}.resources", container.get("resources") or {})
    return [
        *problems,
        *_security_problems(f"{place}.securityContext", container.get("securityContext") or {}),
    ]


def _security_problems(field: str, context: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    for name in ("runAsUser", "runAsGroup"):
        value = context.get(name)
        if value is not None and not 0 <= value <= _MAX_INT32:
            problems.append(
                invalid(f"{field}.{name}", value, f"must be between 0 and {_MAX_INT32}, inclusive")
            )
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            problems.append(invalid(field, dict(context), detail))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            problems.append(invalid(field, dict(context), detail))
    return problems


def _running_parts(place: str, container: Json) -> list[FieldError]:
    """Hooks and probes."""
    problems: list[FieldError] = []
    for name in ("postStart", "preStop"):
        hook = (container.get("lifecycle") or {}).get(name)
        if hook is not None:
            problems += _handler_problems(f"{place}.lifecycle.{name}", hook)
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            problems += _probe_problems(f"{place}.{name}", probe)
            if name != "readinessProbe" and probe.get("successThreshold", 1) != 1:
                value = probe["successThreshold"]
                problems.append(invalid(f"{place}.{name}.successThreshold", value, "must be 1"))
    return problems


def _probe_problems(field: str, probe: Json) -> list[FieldError]:
    problems = _handler_problems(field, probe)
    for name in _NUMBERS:
        problems += non_negative(f"{field}.{name}", probe.get(name))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        problems.append(invalid(f"{field}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return problems


def _handler_problems(field: str, handler: Json) -> list[FieldError]:
    named = [name for name in _HANDLERS if handler.get(name) is not None]
    if not named:
        return [required(field, "must specify a handler type")]
    more = [forbidden(f"{field}.{name}", "may not specify more than 1 handler type") for name in named[1:]]
    return [*more, *_one_handler(f"{field}.{named[0]}", named[0], handler[named[0]])]


def _one_handler(field: str, name: str, handler: Json) -> list[FieldError]:
    match name:
        case "exec":
            return [] if handler.get("command") else [required(f"{field}.command")]
        case "httpGet":
            problems = [] if handler.get("path") else [required(f"{field}.path")]
            problems += port_or_name(f"{field}.port", handler.get("port", 0))
            return [*problems, *one_of(f"{field}.scheme", handler.get("scheme"), ("HTTP", "HTTPS"))]
        case "tcpSocket":
            return port_or_name(f"{field}.port", handler.get("port", 0))
        case "grpc":
            return port_number(f"{field}.port", handler.get("port", 0))
        case _:
            return []


def _host_port_problems(field: str, containers: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[tuple[Any, ...]] = set()
    for n, container in enumerate(containers):
        for m, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = (port.get("protocol"), port.get("hostIP", ""), port["hostPort"])
            if key in seen:
                shown = "/".join(str(part) for part in key)
                problems.append(duplicate(f"{field}[{n}].ports[{m}].hostPort", shown))
            seen.add(key)
    return problems
