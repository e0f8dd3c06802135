"""API resources of our kinds, and the labels, annotations and references that connect their objects."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from jangar.api.kind import VERSION, Kind
from jangar.api.kinds import by_api_version_and_kind
from jangar.kinds.run_objects import STOP
from kubekit.cache.object_cache import Cached
from kubekit.client.resource import Resource
from kubekit.events.event_recorder import ObjectReference
from kubekit.times import parse_rfc3339, rfc3339

RUN_UID: Final = "jangar.proompteng.ai/run-uid"
"""Label of everything that belongs to a run; names reach 253 characters, labels 63 (RUN-5)."""
CHILD_UID: Final = "jangar.proompteng.ai/child-uid"
"""Label of a child's Jobs and pods."""
JOB_NAME: Final = "batch.kubernetes.io/job-name"
"""Label that the Job controller sets on the pods of a Job."""
STEP: Final = "jangar.proompteng.ai/step"
ATTEMPT: Final = "jangar.proompteng.ai/attempt"
MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "jangar"}

LINEAGE: Final = "jangar.proompteng.ai/lineage"
"""Annotation of a nested run: the orchestrations that contain it, outermost first, by comma."""

CREATED_BY: Final = "jangar.proompteng.ai/created-by"
"""Annotation of a run: who requested it, as claimed by its creator. Not verified; the audit trail is."""


def resource_of(kind: Kind) -> Resource:
    """The API resource of a kind."""
    return Resource(group=kind.group, version=VERSION, plural=kind.plural, kind=kind.name)


def kind_of(resource: Resource) -> Kind:
    """The kind of ours that is served there."""
    kind = by_api_version_and_kind(resource.api_version, resource.kind)
    if kind is None:
        raise ValueError(f"{resource.api_version} {resource.kind} is not a kind of this product")
    return kind


def owner_reference(resource: Resource, owner: Cached) -> dict[str, Any]:
    """A controller reference to the owner; objects that it owns are deleted with it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def reference_to(resource: Resource, cached: Cached) -> ObjectReference:
    """The reference that Events about the object have."""
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=cached.name,
        uid=cached.uid,
        namespace=cached.namespace,
    )


def is_controlled_by(obj: Mapping[str, Any], uid: str) -> bool:
    """Whether the object's controlling owner has this uid."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == uid for owner in owners)


def stop_deadline(annotations: Mapping[str, str] | None) -> datetime | None:
    """The deadline by which the owner requests the stop; None without a valid request."""
    try:
        deadline = json.loads((annotations or {})[STOP])["deadline"]
        return parse_rfc3339(deadline) if isinstance(deadline, str) else None
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def stop_annotation(*, reason: str, deadline: datetime) -> dict[str, str]:
    """The annotation by which an owner requests a stop."""
    return {STOP: json.dumps({"reason": reason, "deadline": rfc3339(deadline)})}
