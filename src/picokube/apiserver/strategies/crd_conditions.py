"""Conditions of a CustomResourceDefinition: how one is found and set, and what a deletion sets. Pure."""

from typing import Final

from picokube.apiserver.strategies.checks import Json, JsonObject
from picokube.schema.go_text import go_quote

CRDS: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a definition whose objects are still there."""
NAMES_ACCEPTED: Final = "NamesAccepted"
ESTABLISHED: Final = "Established"
TERMINATING: Final = "Terminating"
CONFORMANT: Final = "KubernetesAPIApprovalPolicyConformant"
APPROVED: Final = "api-approved.kubernetes.io"
"""The annotation that says who agreed to a definition in a group of the Kubernetes project."""


def is_true(definition: Json, kind: str) -> bool:
    """Whether the definition has this condition, and it holds."""
    found = condition_of(definition, kind)
    return found is not None and found["status"] == "True"


def condition_of(definition: Json, kind: str) -> Json | None:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] == kind), None)


def condition(kind: str, status: str, reason: str, message: str) -> JsonObject:
    """A condition, but for its time."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def with_condition(status: Json, new: Json, now: str) -> JsonObject:
    """The status with a condition in its place. Its time is that of the last change of its status."""
    conditions: list[Json] = list(status.get("conditions") or ())
    for n, item in enumerate(conditions):
        if item["type"] == new["type"]:
            kept = item["status"] == new["status"] and item.get("lastTransitionTime")
            conditions[n] = {**new, "lastTransitionTime": item["lastTransitionTime"] if kept else now}
            break
    else:
        conditions.append({**new, "lastTransitionTime": now})
    return {**status, "conditions": conditions}


def approval(definition: Json) -> JsonObject | None:
    """What is said of a definition in a group of the Kubernetes project: who agreed to it."""
    if not is_protected(definition["spec"].get("group", "")):
        return None
    stated = ((definition.get("metadata") or {}).get("annotations") or {}).get(APPROVED, "")
    if stated.startswith("unapproved"):
        return condition(CONFORMANT, "False", "UnapprovedAnnotation", f"not approved: {go_quote(stated)}")
    return condition(CONFORMANT, "True", "ApprovedAnnotation", f"approved in {stated}") if stated else None


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes project."""
    return group.endswith((".k8s.io", ".kubernetes.io")) or group in ("k8s.io", "kubernetes.io")


def mark_deleted(definition: JsonObject, now: str) -> None:
    """In place: to be deleted, and held until its objects are gone."""
    meta = definition["metadata"]
    meta["deletionTimestamp"] = now
    if CLEANUP not in (meta.get("finalizers") or ()):
        meta["finalizers"] = [*(meta.get("finalizers") or ()), CLEANUP]
    pending = condition(
        TERMINATING,
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    definition["status"] = with_condition(definition.get("status") or {}, pending, now)


def emptying(definition: Json, now: str) -> JsonObject:
    """The status while objects are deleted."""
    progress = condition(
        TERMINATING, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
    )
    return with_condition(definition.get("status") or {}, progress, now)


def emptied(definition: Json, now: str) -> JsonObject:
    """The definition without the finalizer that waited for its objects."""
    if is_true(definition, ESTABLISHED):
        done = condition(TERMINATING, "False", "InstanceDeletionCompleted", "removed all instances")
    else:
        done = condition(TERMINATING, "False", "NeverEstablished", "resource was never established")
    meta = definition["metadata"]
    finalizers = [finalizer for finalizer in meta.get("finalizers") or () if finalizer != CLEANUP]
    return {
        **definition,
        "metadata": {**meta, "finalizers": finalizers},
        "status": with_condition(definition.get("status") or {}, done, now),
    }
