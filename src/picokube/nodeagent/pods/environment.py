"""Builds the environment of a container: inherited variables, `envFrom`, `env`, field references and `$(NAME)`.

Pure; `find` looks up objects.
"""

import base64
import os
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from kubekit.quantities import parse_quantity

MAX_EXPANDED: Final = 1024 * 1024
"""Characters: variables that refer to each other can grow exponentially. Linux limits an argument to 128 KiB."""
Obj = Mapping[str, Any]
ADDRESS = "127.0.0.1"
"""Processes share the network of the host."""
_KEY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
Find = Callable[[str, str], Obj | None]
"""Looks up an object in the pod's namespace by kind and name. None if it doesn't exist."""
INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("GIT_SSL_CAINFO", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""Variables that containers inherit from the agent. They are passed to processes and never stored in an object."""


class ExpansionTooLarge(ValueError):
    """An expanded text exceeds MAX_EXPANDED."""


def expand_variables(text: str, values: Mapping[str, str]) -> str:
    """Replace references to known variables. Unknown references are kept; `$$` becomes `$`."""
    # Not a regular expression: with hundreds of thousands of references it is too slow.
    parts = []
    position = size = 0
    last_end = text.rfind(")")
    while (dollar := text.find("$", position)) >= 0:
        parts.append(text[position:dollar])
        position = dollar + 2
        match text[dollar + 1 : position]:
            case "$":
                parts.append("$")
            case "(" if position <= last_end:
                end = text.index(")", position)
                parts.append(values.get(text[position:end], text[dollar : end + 1]))
                position = end + 1
                size += len(parts[-1])
                if size > MAX_EXPANDED:
                    raise ExpansionTooLarge(
                        f"expanding $({text[dollar + 2 : end][:64]}) exceeds {MAX_EXPANDED} characters"
                    )
            case _:
                parts.append("$")
                position = dollar + 1
    return "".join([*parts, text[position:]])


class UnknownField(ValueError):
    """A field that is not supported in process mode."""


def pod_field(pod: Obj, path: str) -> str:
    meta, spec = pod["metadata"], pod["spec"]
    if match := _KEY.fullmatch(path):
        return str((meta.get(match[1]) or {}).get(match[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(meta[path.removeprefix("metadata.")])
        case "metadata.labels" | "metadata.annotations":
            values = meta.get(path.removeprefix("metadata.")) or {}
            return "\n".join(f'{key}="{_escape(value)}"' for key, value in sorted(values.items()))
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.removeprefix("spec."), ""))
        case "status.hostIP" | "status.podIP" | "status.hostIPs" | "status.podIPs":
            return ADDRESS
        case _:
            raise UnknownField(f"fieldPath {path} is not supported in process mode")


def resource_field(container: Obj, reference: Obj) -> str:
    """A limit or request of a container. The default limit is the capacity of the host."""
    section, _, name = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    value = (resources.get(section) or {}).get(name)
    if value is None and section == "requests":
        value = (resources.get("limits") or {}).get(name)
    if value is None:
        value = _host_capacity(name) if section == "limits" else "0"
    divisor = _quantity(str(reference.get("divisor") or "1")) or Decimal(1)
    return str((_quantity(str(value)) / divisor).to_integral_value(ROUND_CEILING))


def _quantity(text: str) -> Decimal:
    value = parse_quantity(text)
    if value is None:
        raise UnknownField(f"{text!r} is not a valid quantity")
    return value


def _host_capacity(name: str) -> str:
    match name:
        case "cpu":
            return str(os.cpu_count() or 1)
        case "memory":
            return str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        case _:
            return "0"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class ConfigProblem(Exception):
    """A container can't start because of its configuration, such as a missing Secret. Retried."""


def inherited_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that containers inherit from the agent: paths of programs and certificates, proxies."""
    return {name: environ[name] for name in INHERITED if name in environ}


def environment(pod: Obj, container: Obj, base: Mapping[str, str], find: Find) -> dict[str, str]:
    """All variables of a container. A value may refer to earlier variables as `$(NAME)`. Raises ConfigProblem."""
    values = dict(base) | {"HOSTNAME": pod["metadata"]["name"]}
    for source in container.get("envFrom") or ():
        values |= _env_from(source, find)
    env: dict[str, str] = {}
    for item in container.get("env") or ():
        if item.get("valueFrom"):
            value = _value_from(pod, container, item["valueFrom"], find)
            if value is None:
                continue
        else:
            value = expand_variables(item.get("value") or "", {**values, **env})
        env[item["name"]] = value
    return values | env


def _env_from(source: Obj, find: Find) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if (ref := source.get(field)) is not None:
            obj = find(kind, ref["name"])
            if obj is None:
                if ref.get("optional"):
                    return {}
                raise ConfigProblem(_not_found(kind, ref["name"]))
            return {prefix + key: _decode(value) for key, value in contents(obj).items()}
    return {}


def _value_from(pod: Obj, container: Obj, source: Obj, find: Find) -> str | None:
    try:
        if (ref := source.get("fieldRef")) is not None:
            return pod_field(pod, ref["fieldPath"])
        if (ref := source.get("resourceFieldRef")) is not None:
            return resource_field(_find_container(pod, ref.get("containerName")) or container, ref)
    except UnknownField as error:
        raise ConfigProblem(str(error)) from error
    for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if (ref := source.get(field)) is not None:
            return _key_value(kind, ref, find)
    raise ConfigProblem(f"valueFrom.{', '.join(source)} is not supported in process mode")


def _key_value(kind: str, ref: Obj, find: Find) -> str | None:
    obj = find(kind, ref["name"])
    values = contents(obj) if obj is not None else {}
    if ref["key"] in values:
        return _decode(values[ref["key"]])
    if ref.get("optional"):
        return None
    if obj is None:
        raise ConfigProblem(_not_found(kind, ref["name"]))
    raise ConfigProblem(
        f"couldn't find key {ref['key']} in {kind} {obj['metadata']['namespace']}/{ref['name']}"
    )


def contents(obj: Obj) -> dict[str, bytes]:
    """The decoded values of a ConfigMap or Secret by key."""
    if obj.get("kind") == "Secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    binary = {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}
    return {key: value.encode() for key, value in (obj.get("data") or {}).items()} | binary


def _decode(value: bytes) -> str:
    return value.decode(errors="replace")


def _not_found(kind: str, name: str) -> str:
    return f'{kind.lower()} "{name}" not found'


def _find_container(pod: Obj, name: str | None) -> Obj | None:
    containers = [*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())]
    return next((container for container in containers if container["name"] == name), None)
