"""The roles that every cluster has, as far as they say something here, and whom they are given to at first."""

import asyncio
from typing import Any, Final

from jangar.apiserver.access import GROUP, MASTERS
from jangar.apiserver.options import IGNORE, WriteOptions
from jangar.apiserver.serving import Serving
from jangar.apiserver.storage.store import Key
from jangar.apiserver.writing import create

JsonObject = dict[str, Any]

_OPTIONS: Final = WriteOptions(manager="kube-apiserver", validation=IGNORE)
_API: Final = f"{GROUP}/v1"
_BOOTSTRAPPING: Final = "kubernetes.io/bootstrapping"
_GATHERED_BY: Final = "rbac.authorization.k8s.io/aggregate-to-"
_KNOWN, _STRANGERS = "system:authenticated", "system:unauthenticated"
_ALIVE: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DOCUMENTS: Final = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
_SEEN: Final = {
    "": "configmaps endpoints events limitranges namespaces persistentvolumeclaims pods pods/log pods/status "
    "resourcequotas serviceaccounts services",
    "apps": "daemonsets deployments deployments/scale replicasets statefulsets",
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "discovery.k8s.io": "endpointslices",
    "networking.k8s.io": "ingresses networkpolicies",
    "policy": "poddisruptionbudgets",
}
_CHANGED: Final = {
    "": "configmaps events persistentvolumeclaims pods pods/eviction secrets serviceaccounts serviceaccounts/token "
    "services",
    "apps": _SEEN["apps"],
    "autoscaling": _SEEN["autoscaling"],
    "batch": _SEEN["batch"],
    "networking.k8s.io": _SEEN["networking.k8s.io"],
    "policy": _SEEN["policy"],
}


async def ensure_first_roles(serving: Serving) -> None:
    """What is there is left alone."""
    missing = [
        (plural, obj)
        for plural, obj in (*_roles(), *_bindings())
        if serving.store.get(Key(f"{plural}.{GROUP}", "", obj["metadata"]["name"])) is None
    ]
    await asyncio.gather(*(_create(serving, plural, obj) for plural, obj in missing))


async def _create(serving: Serving, plural: str, obj: JsonObject) -> None:
    resource = serving.registry.find(GROUP, "v1", plural)
    if resource is None:
        raise LookupError(f"{plural} are not served")
    await create(serving, resource, None, obj, _OPTIONS)


def _roles() -> list[tuple[str, JsonObject]]:
    everything = [_rule(("*",), "*", "*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    reviews = "selfsubjectaccessreviews selfsubjectrulesreviews"
    oneself = [
        _rule(("create",), "authorization.k8s.io", reviews),
        _rule(("create",), "authentication.k8s.io", "selfsubjectreviews"),
    ]
    viewer = [_rule(_READ, group, names) for group, names in _SEEN.items()]
    editor = [
        _rule(_READ, "", "secrets"),
        _rule(("impersonate",), "", "serviceaccounts"),
        *(_rule(_WRITE, group, names) for group, names in _CHANGED.items()),
    ]
    admin = [
        _rule((*_READ, *_WRITE), GROUP, "rolebindings roles"),
        _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
    ]
    return [
        _role("cluster-admin", everything),
        _role("system:basic-user", oneself),
        _role("system:discovery", [_paths(*_ALIVE, *_DOCUMENTS)]),
        _role("system:public-info-viewer", [_paths(*_ALIVE)]),
        _role("view", viewer, gathers="view", labels={f"{_GATHERED_BY}edit": "true"}),
        _role("edit", editor, gathers="edit", labels={f"{_GATHERED_BY}admin": "true"}),
        _role("admin", admin, gathers="admin"),
    ]


def _bindings() -> list[tuple[str, JsonObject]]:
    return [
        _binding("cluster-admin", MASTERS),
        _binding("system:basic-user", _KNOWN),
        _binding("system:discovery", _KNOWN),
        _binding("system:public-info-viewer", _KNOWN, _STRANGERS),
    ]


def _role(
    name: str, rules: list[JsonObject], *, gathers: str = "", labels: dict[str, str] | None = None
) -> tuple[str, JsonObject]:
    role: JsonObject = {"apiVersion": _API, "kind": "ClusterRole", "metadata": _meta(name, labels or {})}
    if gathers:
        chosen = {"matchLabels": {f"{_GATHERED_BY}{gathers}": "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [chosen]}
    return "clusterroles", role | {"rules": rules}


def _binding(role: str, *groups: str) -> tuple[str, JsonObject]:
    subjects = [{"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups]
    return "clusterrolebindings", {
        "apiVersion": _API,
        "kind": "ClusterRoleBinding",
        "metadata": _meta(role, {}),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    }


def _meta(name: str, labels: dict[str, str]) -> JsonObject:
    return {"name": name, "labels": {_BOOTSTRAPPING: "rbac-defaults", **labels}}


def _rule(verbs: tuple[str, ...], group: str, resources: str) -> JsonObject:
    return {"verbs": list(verbs), "apiGroups": [group], "resources": resources.split()}


def _paths(*paths: str) -> JsonObject:
    return {"verbs": ["get"], "nonResourceURLs": list(paths)}
