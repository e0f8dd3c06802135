"""What is wrong with the containers of a pod. Parts of a container are in pod_container_parts."""

from collections.abc import Sequence
from typing import Any, Final

from picokube.apiserver.strategies.checks import (
    Json,
    dns_label,
    duplicate,
    forbidden,
    invalid,
    non_negative,
    not_supported,
    one_of,
    port_number,
    port_or_name,
    required,
)
from picokube.apiserver.strategies.pod_container_parts import (
    env_from_problems,
    env_problems,
    forbidden_parts,
    mount_problems,
    port_problems,
    resource_problems,
)
from picokube.schema import FieldError

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
_MOST: Final = 2**31 - 1


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
        if value is not None and not 0 <= value <= _MOST:
            problems.append(invalid(f"{field}.{name}", value, f"must be between 0 and {_MOST}, inclusive"))
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
