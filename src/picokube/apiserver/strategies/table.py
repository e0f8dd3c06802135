"""Which strategy each built-in kind has, and what of its behavior the frame must know. A table; decides nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from picokube.apiserver.names import label_problems, path_segment_problems, subdomain_problems
from picokube.apiserver.scaling import ScalePaths
from picokube.apiserver.strategies import apps, autoscaler, stored_only
from picokube.apiserver.strategies.claim import Claim
from picokube.apiserver.strategies.config import ConfigMap, Secret
from picokube.apiserver.strategies.crd import CustomResourceDefinition
from picokube.apiserver.strategies.cron_job import CronJob
from picokube.apiserver.strategies.event import Event, NewEvent
from picokube.apiserver.strategies.job import Job
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.lease import Lease
from picokube.apiserver.strategies.names_1035 import label_1035_problems
from picokube.apiserver.strategies.namespace import Namespace
from picokube.apiserver.strategies.node import Node
from picokube.apiserver.strategies.persistent_volume import PersistentVolume
from picokube.apiserver.strategies.pod import Find, Pod
from picokube.apiserver.strategies.priority_class import PriorityClass
from picokube.apiserver.strategies.rbac import ClusterRole, ClusterRoleBinding, Role, RoleBinding
from picokube.apiserver.strategies.reviews import KINDS as REVIEWS
from picokube.apiserver.strategies.reviews import Judge, Lookup, Review, review
from picokube.apiserver.strategies.service import Service

POD_GRACE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """What a kind does beyond its generated facts."""

    strategy: Kind
    has_generation: bool
    selectable_fields: tuple[str, ...]
    name_problems: Callable[[str], list[str]]
    unconditional_update: bool
    create_on_update: bool
    orphans_by_default: bool
    grace_seconds: int | None
    stored_as: str
    stored_version: str
    scale: ScalePaths | None
    review: Review | None


_STRATEGIES: Final[dict[str, type[Kind]]] = {
    "/ConfigMap": ConfigMap,
    "/Endpoints": stored_only.Endpoints,
    "/Event": Event,
    "/LimitRange": stored_only.LimitRange,
    "/Namespace": Namespace,
    "/Node": Node,
    "/PersistentVolume": PersistentVolume,
    "/PersistentVolumeClaim": Claim,
    "/Pod": Pod,
    "/ReplicationController": apps.ReplicationController,
    "/ResourceQuota": stored_only.ResourceQuota,
    "/Secret": Secret,
    "/Service": Service,
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": stored_only.WebhookConfiguration,
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": stored_only.WebhookConfiguration,
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
    "events.k8s.io/Event": NewEvent,
    "networking.k8s.io/Ingress": stored_only.Ingress,
    "networking.k8s.io/NetworkPolicy": stored_only.NetworkPolicy,
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
    "Service": label_1035_problems,
    **dict.fromkeys(("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"), path_segment_problems),
}
_SCALE: Final = ScalePaths(spec=".spec.replicas", status=".status.replicas", pod_selector=".spec.selector")
_ABOUT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SELECTABLE: Final[dict[str, tuple[str, ...]]] = {
    "/Pod": (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    "/Event": (
        *(f"involvedObject.{name}" for name in _ABOUT), "reason", "reportingComponent", "source", "type",
    ),
    "events.k8s.io/Event": (
        *(f"regarding.{name}" for name in _ABOUT), "reason", "reportingController", "type",
    ),
    "/Namespace": ("status.phase",),
    "/Secret": ("type",),
    "/Node": ("spec.unschedulable",),
    "/Service": ("spec.clusterIP", "spec.type"),
    "batch/Job": ("status.successful",),
    "apps/ReplicaSet": ("status.replicas",),
    "/ReplicationController": ("status.replicas",),
}  # fmt: skip


def behavior_of(
    row: dict[str, Any], find: Find | None, lookup: Lookup | None, judge: Judge | None
) -> Behavior:
    kind, key = row["kind"], f"{row['group']}/{row['kind']}"
    return Behavior(
        strategy=_strategy(row, key, find),
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
        review=review(kind, lookup, judge) if kind in REVIEWS else None,
    )


def _strategy(row: dict[str, Any], key: str, find: Find | None) -> Kind:
    found = _STRATEGIES.get(key, Kind)
    if found is autoscaler.HorizontalPodAutoscaler and row["version"] == "v1":
        found = autoscaler.OldAutoscaler
    if issubclass(found, Pod):
        return found(row["struct"], version=row["version"], find=find)
    return found(row["struct"], version=row["version"])
