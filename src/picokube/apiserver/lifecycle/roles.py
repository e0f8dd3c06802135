"""Bootstrap roles and bindings, and the aggregation of ClusterRoles by label selectors."""

import asyncio
from collections.abc import Iterable
from typing import Final

import orjson

from picokube.apiserver.auth.access import GROUP, MASTERS
from picokube.apiserver.lifecycle.worker import ignoring
from picokube.apiserver.objects.admission import apply_configuration
from picokube.apiserver.objects.context import CommittedWrite, ServerContext
from picokube.apiserver.objects.object_store import create, update
from picokube.apiserver.protocol.messages import IGNORE, Json, JsonObject, WriteOptions
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.checks import labels_match

ROLES: Final = f"clusterroles.{GROUP}"
_AGGREGATION_OPTIONS: Final = WriteOptions(
    manager="clusterrole-aggregation-controller", validation=IGNORE, force=True
)


def aggregated_rules(role: Json, roles: Iterable[Json]) -> list[Json]:
    """The rules of the roles that a role selects, selector by selector and by name, each rule once."""
    others = sorted(
        (item for item in roles if item["metadata"]["name"] != role["metadata"]["name"]),
        key=lambda item: str(item["metadata"]["name"]),
    )
    found: list[Json] = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        for other in others:
            if labels_match(selector, other["metadata"].get("labels") or {}):
                found += [rule for rule in other.get("rules") or () if rule not in found]
    return found


class RoleAggregation:
    """Updates all aggregated roles after any ClusterRole was written, until nothing changes."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context
        self._changed = asyncio.Event()
        context.listeners.append(self._on_write)

    def _on_write(self, write: CommittedWrite) -> None:
        if write.resource.qualified == ROLES:
            self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            for role in self._roles():
                if role.get("aggregationRule") is not None:
                    await self._fill(role)

    def _roles(self) -> list[JsonObject]:
        return [orjson.loads(item.data) for item in self._context.store.list(ROLES).objects]

    async def _fill(self, role: JsonObject) -> None:
        rules = aggregated_rules(role, self._roles())
        resource = self._context.registry.get(GROUP, "v1", "clusterroles")
        if rules == (role.get("rules") or []):
            return
        name = role["metadata"]["name"]
        wanted = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        }

        def filled(old: JsonObject) -> tuple[JsonObject, bool]:
            return apply_configuration(self._context, resource, old, wanted, _AGGREGATION_OPTIONS, ""), True

        with ignoring("NotFound", "Conflict"):
            await update(self._context, resource, Key(ROLES, "", name), filled, _AGGREGATION_OPTIONS)


_BOOTSTRAP_OPTIONS: Final = WriteOptions(manager="kube-apiserver", validation=IGNORE)
_API: Final = f"{GROUP}/v1"
_BOOTSTRAPPING: Final = "kubernetes.io/bootstrapping"
_AGGREGATE_TO: Final = "rbac.authorization.k8s.io/aggregate-to-"
_AUTHENTICATED, _UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
_HEALTH_PATHS: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY_PATHS: Final = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")
_BINDINGS: Final = (
    ("cluster-admin", MASTERS),
    ("system:basic-user", _AUTHENTICATED),
    ("system:discovery", _AUTHENTICATED),
    ("system:public-info-viewer", _AUTHENTICATED, _UNAUTHENTICATED),
)
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "delete", "deletecollection", "patch", "update")
_VIEWED: Final = (
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
_EDITED: Final = (
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


async def ensure_bootstrap_roles(context: ServerContext) -> None:
    """Create the missing roles and bindings; existing ones stay as they are."""
    missing = [
        (plural, obj)
        for plural, obj in (*_roles(), *(_binding(*row) for row in _BINDINGS))
        if context.store.get(Key(f"{plural}.{GROUP}", "", obj["metadata"]["name"])) is None
    ]
    await asyncio.gather(
        *(
            create(context, context.registry.get(GROUP, "v1", plural), None, obj, _BOOTSTRAP_OPTIONS)
            for plural, obj in missing
        )
    )


def _roles() -> list[tuple[str, JsonObject]]:
    everything = [_rule(("*",), "*", "*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}]
    reviews = "selfsubjectaccessreviews selfsubjectrulesreviews"
    oneself = [
        _rule(("create",), "authorization.k8s.io", reviews),
        _rule(("create",), "authentication.k8s.io", "selfsubjectreviews"),
    ]
    viewer = [_rule(_READ, groups, names) for groups, names in _VIEWED]
    editor = [
        _rule(_READ, "", "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"),
        _rule(("impersonate",), "", "serviceaccounts"),
        _rule(("create",), "", "pods/eviction"),
        _rule(("create",), "", "serviceaccounts/token"),
        *(_rule(_WRITE, groups, names) for groups, names in _EDITED),
        _rule((*_WRITE, *_READ), "coordination.k8s.io", "leases"),
    ]
    admin = [
        _rule(("create",), "authorization.k8s.io", "localsubjectaccessreviews"),
        _rule((*_READ, *_WRITE), GROUP, "roles rolebindings"),
    ]
    roles = [
        _role("cluster-admin", everything),
        _role("system:basic-user", oneself),
        _role("system:discovery", [_paths(*_HEALTH_PATHS, *_DISCOVERY_PATHS)]),
        _role("system:public-info-viewer", [_paths(*_HEALTH_PATHS)]),
        _role("system:aggregate-to-view", viewer, part_of="view"),
        _role("system:aggregate-to-edit", editor, part_of="edit"),
        _role("system:aggregate-to-admin", admin, part_of="admin"),
    ]
    for name, part_of in (("view", "edit"), ("edit", "admin"), ("admin", "")):
        role = _role(name, [], part_of=part_of)
        chosen = {"matchLabels": {f"{_AGGREGATE_TO}{name}": "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [chosen]}
        roles.append(role | {"rules": aggregated_rules(role, roles)})
    return [("clusterroles", role) for role in roles]


def _role(name: str, rules: list[JsonObject], *, part_of: str = "") -> JsonObject:
    labels = {f"{_AGGREGATE_TO}{part_of}": "true"} if part_of else {}
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
