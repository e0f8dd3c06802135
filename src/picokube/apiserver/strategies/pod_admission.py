"""What admission adds to every pod on a real server: a token, tolerations; and its class of service. Pure."""

from typing import Final
from uuid import UUID

from picokube.apiserver.strategies.checks import Json, JsonObject
from picokube.apiserver.strategies.scalar_types import quantity_value

TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - where pods find theirs
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_COUNTED: Final = ("cpu", "memory")


def mount_token(spec: JsonObject, uid: str) -> None:
    if any(volume.get("name", "").startswith("kube-api-access-") for volume in spec.get("volumes") or ()):
        return
    mounting = [
        container
        for name in ("containers", "initContainers")
        for container in spec.get(name) or ()
        if all(mount.get("mountPath") != TOKEN_PATH for mount in container.get("volumeMounts") or ())
    ]
    if not mounting:
        return
    name = f"kube-api-access-{_suffix(uid)}"
    for container in mounting:
        mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    volume = {"name": name, "projected": {"sources": sources, "defaultMode": 420}}
    spec["volumes"] = [*(spec.get("volumes") or ()), volume]


def _suffix(uid: str) -> str:
    """Five characters that the pod's uid decides."""
    number = UUID(uid).int if uid else 0
    return "".join(_ALPHABET[number // len(_ALPHABET) ** n % len(_ALPHABET)] for n in range(5))


def tolerate_outages(spec: JsonObject) -> None:
    """Five minutes on a node that is not ready or not reachable, unless the pod says otherwise."""
    known = list(spec.get("tolerations") or ())
    for taint in _TAINTS:
        if not any(_tolerates(item, taint) for item in known):
            known.append(
                {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            )
    spec["tolerations"] = known


def _tolerates(toleration: Json, key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in ("NoExecute", "")


def qos_class(spec: Json) -> str:
    """Guaranteed where limits are set and equal requests, BestEffort where nothing is said, else Burstable."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    stated, guaranteed = False, True
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        wanted = {name: quantity_value(requests[name]) for name in _COUNTED if name in requests}
        allowed = {name: quantity_value(limits[name]) for name in _COUNTED if name in limits}
        stated = stated or any(wanted.values()) or any(allowed.values())
        guaranteed = guaranteed and set(allowed) == set(_COUNTED) and wanted == allowed
    if not stated:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"
