"""The built-in kinds: generated facts (names, columns, schemas) joined with the strategy and behavior of each kind."""

from collections.abc import Callable
from typing import Any, Final

from picokube.apiserver.auth.access import Access, guard_of
from picokube.apiserver.auth.authorization import KINDS as REVIEWS
from picokube.apiserver.auth.authorization import TokenLookup, review
from picokube.apiserver.kinds.builtin_data import kinds, lazy_schema
from picokube.apiserver.kinds.names import (
    dns_1035_problems,
    label_problems,
    path_segment_problems,
    subdomain_problems,
)
from picokube.apiserver.kinds.resources import Find, ResourceType, TableColumn
from picokube.apiserver.kinds.scaling import ScalePaths
from picokube.apiserver.strategies.core.cluster import Lease, Namespace, Node, PriorityClass
from picokube.apiserver.strategies.core.config import ConfigMap, Secret
from picokube.apiserver.strategies.core.event import Event, EventsEvent
from picokube.apiserver.strategies.core.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from picokube.apiserver.strategies.core.service import Service
from picokube.apiserver.strategies.core.volumes import PersistentVolume, PersistentVolumeClaim
from picokube.apiserver.strategies.crds.definition import CustomResourceDefinition
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pods.pod import Pod
from picokube.apiserver.strategies.policy import autoscaler, network, stored_only, webhooks
from picokube.apiserver.strategies.workloads import apps
from picokube.apiserver.strategies.workloads.cron_job import CronJob
from picokube.apiserver.strategies.workloads.job import Job

POD_GRACE_SECONDS: Final = 30


_STRATEGIES: Final[dict[str, type[Kind]]] = {
    "/ConfigMap": ConfigMap,
    "/Endpoints": stored_only.Endpoints,
    "/Event": Event,
    "/LimitRange": stored_only.LimitRange,
    "/Namespace": Namespace,
    "/Node": Node,
    "/PersistentVolume": PersistentVolume,
    "/PersistentVolumeClaim": PersistentVolumeClaim,
    "/Pod": Pod,
    "/ReplicationController": apps.ReplicationController,
    "/ResourceQuota": stored_only.ResourceQuota,
    "/Secret": Secret,
    "/Service": Service,
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": webhooks.MutatingWebhookConfiguration,
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": webhooks.ValidatingWebhookConfiguration,
    "apiextensions.k8s.io/CustomResourceDefinition": CustomResourceDefinition,
    "apps/DaemonSet": apps.DaemonSet,
    "apps/Deployment": apps.Deployment,
    "apps/ReplicaSet": apps.ReplicaSet,
    "apps/StatefulSet": apps.StatefulSet,
    "autoscaling/HorizontalPodAutoscaler": autoscaler.HorizontalPodAutoscaler,
    "batch/CronJob": CronJob,
    "batch/Job": Job,
    "coordination.k8s.io/Lease": Lease,
    "discovery.k8s.io/EndpointSlice": stored_only.EndpointSlice,
    "events.k8s.io/Event": EventsEvent,
    "networking.k8s.io/Ingress": network.Ingress,
    "networking.k8s.io/NetworkPolicy": network.NetworkPolicy,
    "policy/PodDisruptionBudget": stored_only.PodDisruptionBudget,
    "rbac.authorization.k8s.io/ClusterRole": ClusterRole,
    "rbac.authorization.k8s.io/ClusterRoleBinding": ClusterRoleBinding,
    "rbac.authorization.k8s.io/Role": Role,
    "rbac.authorization.k8s.io/RoleBinding": RoleBinding,
    "scheduling.k8s.io/PriorityClass": PriorityClass,
    "storage.k8s.io/StorageClass": stored_only.StorageClass,
}
_WITH_GENERATION: Final = frozenset(
    {
        "Pod", "Job", "CronJob", "DaemonSet", "StatefulSet", "Deployment", "ReplicaSet", "Ingress",
        "ReplicationController",
        "NetworkPolicy", "PodDisruptionBudget", "EndpointSlice", "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration", "CustomResourceDefinition",
    }
)  # fmt: skip
_CONDITIONAL: Final = frozenset(
    {
        "Lease", "PodDisruptionBudget", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
        "CustomResourceDefinition",
    }
)  # fmt: skip
_CREATED_BY_PUT: Final = frozenset(
    {
        "Event", "Service", "Endpoints", "LimitRange", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
        "Lease",
    }
)  # fmt: skip
_NAMES: Final[dict[str, Callable[[str], list[str]]]] = {
    "Namespace": label_problems,
    "Service": dns_1035_problems,
    **dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), path_segment_problems),
}
_SCALE: Final = ScalePaths(spec=".spec.replicas", status=".status.replicas", pod_selector=".spec.selector")
_REFERENCE_FIELDS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SELECTABLE: Final[dict[str, tuple[str, ...]]] = {
    "/Pod": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    "/Event": (
        *(f"involvedObject.{name}" for name in _REFERENCE_FIELDS), "reason", "reportingComponent", "source", "type",
    ),
    "events.k8s.io/Event": (
        *(f"regarding.{name}" for name in _REFERENCE_FIELDS), "reason", "reportingController", "type",
    ),
    "/Namespace": ("status.phase",),
    "/Secret": ("type",),
    "/Node": ("spec.unschedulable",),
    "/Service": ("spec.clusterIP", "spec.type"),
    "batch/Job": ("status.successful",),
    "apps/ReplicaSet": ("status.replicas",),
    "/ReplicationController": ("status.replicas",),
}  # fmt: skip


def _strategy(row: dict[str, Any], key: str, find: Find | None) -> Kind:
    found = _STRATEGIES.get(key, Kind)
    if found is autoscaler.HorizontalPodAutoscaler and row["version"] == "v1":
        found = autoscaler.HorizontalPodAutoscalerV1
    if issubclass(found, Pod):
        return found(row["struct"], version=row["version"], find=find)
    return found(row["struct"], version=row["version"])


def built_in_types(
    find: Find | None = None, lookup: TokenLookup | None = None, access: Access | None = None
) -> list[ResourceType]:
    """Every built-in kind. Schemas are read on first use.

    `find` gives stored objects, for kinds that refer to others: a pod to its account and its priority class.
    `lookup` finds the owner of a token and `access` decides, for reviews and roles. Without them references are
    considered valid, tokens invalid, and nothing is allowed.
    """
    return [_type(row, find, lookup, access) for row in kinds().values()]


def _type(
    row: dict[str, Any], find: Find | None, lookup: TokenLookup | None, access: Access | None
) -> ResourceType:
    kind, key = row["kind"], f"{row['group']}/{row['kind']}"
    names = ("name", "type", "format", "description", "priority")
    return ResourceType(
        **{name: row[name] for name in ("group", "version", "kind", "plural", "singular", "namespaced")},
        short_names=tuple(row["shortNames"]),
        categories=tuple(row["categories"]),
        verbs=tuple(row["verbs"]),
        subresources=frozenset(row["subresources"]),
        strategy=_strategy(row, key, find),
        schema=lazy_schema(row["definition"]),
        columns=tuple(
            TableColumn(**{name: column[name] for name in names})
            for column in row["columns"]
            if column["name"] != "Name" or column["priority"]
        ),
        has_generation=kind in _WITH_GENERATION,
        selectable_fields=_SELECTABLE.get(key, ()),
        name_problems=_NAMES.get(kind, subdomain_problems),
        unconditional_update=kind not in _CONDITIONAL,
        create_on_update=kind in _CREATED_BY_PUT,
        orphans_by_default=kind == "Job",
        grace_seconds=POD_GRACE_SECONDS if kind == "Pod" else None,
        stored_as="events" if kind == "Event" else "",
        stored_version="v2" if kind == "HorizontalPodAutoscaler" else "",
        scale=_SCALE if "scale" in row["subresources"] else None,
        review=review(kind, lookup, access) if kind in REVIEWS else None,
        guard=guard_of(kind, access) if access else None,
    )
