"""Builds the environment of a container: inherited variables, `envFrom` and `env`. Pure; `find` looks up objects."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from picokube.nodeagent.pods.expansion import expand_variables
from picokube.nodeagent.pods.pod_fields import UnknownField, pod_field, resource_field

Obj = Mapping[str, Any]
Find = Callable[[str, str], Obj | None]
"""Looks up an object in the pod's namespace by kind and name. None if it doesn't exist."""

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("GIT_SSL_CAINFO", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""Variables that containers inherit from the agent. They are passed to processes and never stored in an object."""


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
