"""The roles that every cluster has, as far as they say something here, and whom they are given to at first."""

import asyncio
from typing import Any, Final

from picokube.apiserver.access import GROUP, MASTERS
from picokube.apiserver.object_store import create
from picokube.apiserver.options import IGNORE, WriteOptions
from picokube.apiserver.role_aggregation import aggregated_rules
from picokube.apiserver.server_context import Serving
from picokube.apiserver.storage.store import Key

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
_SEEN: Final = (
    ("", ("pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status endpoints "
     "persistentvolumeclaims persistentvolumeclaims/status configmaps")),
    ("", ("limitranges resourcequotas pods/status resourcequotas/status namespaces/status "
     "replicationcontrollers/status pods/log")),
    ("", "namespaces"),
    (" events.k8s.io", "events"),
    ("discovery.k8s.io", "endpointslices"),
    ("apps", ("statefulsets statefulsets/status statefulsets/scale daemonsets daemonsets/status deployments "
     "deployments/status deployments/scale replicasets replicasets/status replicasets/scale")),
    ("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    ("batch", "jobs cronjobs cronjobs/status jobs/status"),
    ("policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    ("networking.k8s.io", "networkpolicies ingresses ingresses/status"),
)  # fmt: skip
_CHANGED: Final = (
    ("", "pods pods/attach pods/proxy pods/exec pods/portforward"),
    ("", ("replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy "
     "persistentvolumeclaims configmaps secrets")),
    (" events.k8s.io", "events"),
    ("apps", "statefulsets statefulsets/scale daemonsets deployments deployments/scale replicasets replicasets/scale"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("batch", "jobs cronjobs"),
    ("policy", "poddisruptionbudgets"),
    ("networking.k8s.io", "networkpolicies ingresses"),
)  # fmt: skip
"""Groups, the core one by an empty name, and resources: of kinds that this server has, as every cluster lists them."""


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
    viewer = [_rule(_READ, groups, names) for groups, names in _SEEN]
    editor = [
        _rule(_READ, "", "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
        _rule(("impersonate",), "", "serviceaccounts"),
        _rule(("create",), "", "pods/eviction"),
        _rule(("create",), "", "serviceaccounts/token"),
        *(_rule(_WRITE, groups, names) for groups, names in _CHANGED),
        _rule((*_WRITE, *_READ), "coordination.k8s.io", "leases"),
    ]
    admin = [
        _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
        _rule((*_READ, *_WRITE), GROUP, "roles rolebindings"),
    ]
    roles = [
        _role("cluster-admin", everything),
        _role("system:basic-user", oneself),
        _role("system:discovery", [_paths(*_ALIVE, *_DOCUMENTS)]),
        _role("system:public-info-viewer", [_paths(*_ALIVE)]),
        _role("system:aggregate-to-view", viewer, part_of="view"),
        _role("system:aggregate-to-edit", editor, part_of="edit"),
        _role("system:aggregate-to-admin", admin, part_of="admin"),
    ]
    for name, part_of in (("view", "edit"), ("edit", "admin"), ("admin", "")):
        role = _role(name, [], part_of=part_of)
        chosen = {"matchLabels": {f"{_GATHERED_BY}{name}": "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [chosen]}
        roles.append(role | {"rules": aggregated_rules(role, roles)})
    return [("clusterroles", role) for role in roles]


def _bindings() -> list[tuple[str, JsonObject]]:
    return [
        _binding("cluster-admin", MASTERS),
        _binding("system:basic-user", _KNOWN),
        _binding("system:discovery", _KNOWN),
        _binding("system:public-info-viewer", _KNOWN, _STRANGERS),
    ]


def _role(name: str, rules: list[JsonObject], *, part_of: str = "") -> JsonObject:
    labels = {f"{_GATHERED_BY}{part_of}": "true"} if part_of else {}
    return {"apiVersion": _API, "kind": "ClusterRole", "metadata": _meta(name, labels), "rules": rules}


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


def _rule(verbs: tuple[str, ...], groups: str, resources: str) -> JsonObject:
    return {"verbs": list(verbs), "apiGroups": groups.split(" "), "resources": resources.split()}


def _paths(*paths: str) -> JsonObject:
    return {"verbs": ["get"], "nonResourceURLs": list(paths)}
