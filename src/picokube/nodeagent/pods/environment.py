"""The variables of a container: inherited, from ConfigMaps and Secrets, its own. Pure: objects come through `find`."""

import base64
from collections.abc import Callable, Mapping
from typing import Any

from picokube.nodeagent.pods.expansion import expanded
from picokube.nodeagent.pods.pod_fields import UnknownField, pod_field, resource_field

Obj = Mapping[str, Any]
Find = Callable[[str, str], Obj | None]
"""A ConfigMap or Secret of the pod's namespace, by kind and name; None if there is none."""

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("GIT_SSL_CAINFO", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""Variables of the agent that containers get. They are handed to processes and written to no object."""


class ConfigProblem(Exception):
    """Something a container refers to is missing; it may come."""


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process gets from the agent's own environment: where programs, certificates and proxies are."""
    return {name: environ[name] for name in INHERITED if name in environ}


def environment(pod: Obj, container: Obj, base: Mapping[str, str], find: Find) -> dict[str, str]:
    """Later variables see earlier ones as `$(NAME)`. Raises ConfigProblem."""
    values = dict(base) | {"HOSTNAME": pod["metadata"]["name"]}
    for source in container.get("envFrom") or ():
        values |= _all_of(source, find)
    own: dict[str, str] = {}
    for each in container.get("env") or ():
        if each.get("valueFrom"):
            value = _value_from(pod, container, each["valueFrom"], find)
            if value is None:
                continue
        else:
            value = expanded(each.get("value") or "", {**values, **own})
        own[each["name"]] = value
    return values | own


def _all_of(source: Obj, find: Find) -> dict[str, str]:
    prefix = source.get("prefix") or ""
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if (ref := source.get(field)) is not None:
            found = find(kind, ref["name"])
            if found is None:
                if ref.get("optional"):
                    return {}
                raise ConfigProblem(_missing(kind, ref["name"]))
            return {prefix + key: _text(value) for key, value in contents(found).items()}
    return {}


def _value_from(pod: Obj, container: Obj, source: Obj, find: Find) -> str | None:
    try:
        if (ref := source.get("fieldRef")) is not None:
            return pod_field(pod, ref["fieldPath"])
        if (ref := source.get("resourceFieldRef")) is not None:
            return resource_field(_named(pod, ref.get("containerName")) or container, ref)
    except UnknownField as error:
        raise ConfigProblem(str(error)) from error
    for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if (ref := source.get(field)) is not None:
            return _key(kind, ref, find)
    raise ConfigProblem(f"a source of a variable is not supported: {', '.join(source)}")


def _key(kind: str, ref: Obj, find: Find) -> str | None:
    found = find(kind, ref["name"])
    values = contents(found) if found is not None else {}
    if ref["key"] in values:
        return _text(values[ref["key"]])
    if ref.get("optional"):
        return None
    if found is None:
        raise ConfigProblem(_missing(kind, ref["name"]))
    raise ConfigProblem(
        f"couldn't find key {ref['key']} in {kind} {found['metadata']['namespace']}/{ref['name']}"
    )


def contents(obj: Obj) -> dict[str, bytes]:
    """The keys of a ConfigMap or Secret with their bytes."""
    if obj.get("kind") == "Secret":
        return {key: base64.b64decode(value) for key, value in (obj.get("data") or {}).items()}
    binary = {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}
    return {key: value.encode() for key, value in (obj.get("data") or {}).items()} | binary


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _missing(kind: str, name: str) -> str:
    return f'{kind.lower()} "{name}" not found'


def _named(pod: Obj, name: str | None) -> Obj | None:
    containers = [*(pod["spec"].get("containers") or ()), *(pod["spec"].get("initContainers") or ())]
    return next((each for each in containers if each["name"] == name), None)
