"""The product's kinds as the client addresses them, and the words by which its objects find each other."""

from collections.abc import Mapping
from typing import Any, Final

from jangar.api.kind import VERSION, Kind
from kubekit.cache.object_cache import Cached
from kubekit.client.resource import Resource
from kubekit.events.event_recorder import ObjectReference

RUN_UID: Final = "jangar.proompteng.ai/run-uid"
"""Label of everything that belongs to a run; names reach 253 characters, labels 63 (RUN-5)."""
CHILD_UID: Final = "jangar.proompteng.ai/child-uid"
"""Label of a child's Jobs and pods."""
JOB_NAME: Final = "batch.kubernetes.io/job-name"
"""Label that a cluster gives to the pods of a Job."""
STEP: Final = "jangar.proompteng.ai/step"
ATTEMPT: Final = "jangar.proompteng.ai/attempt"
MANAGED_BY: Final = {"app.kubernetes.io/managed-by": "jangar"}

LINEAGE: Final = "jangar.proompteng.ai/lineage"
"""Annotation of a nested run: the orchestrations that contain it, outermost first, by comma."""

CREATED_BY: Final = "jangar.proompteng.ai/created-by"
"""Annotation of a run: who requested it, as claimed by its creator. Not verified; the audit trail is."""


def resource_of(kind: Kind) -> Resource:
    """Where a kind is served."""
    return Resource(group=kind.group, version=VERSION, plural=kind.plural, kind=kind.name)


def owner_reference(resource: Resource, owner: Cached) -> dict[str, Any]:
    """A controller reference to the owner: what it owns goes with it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def reference_to(resource: Resource, seen: Cached) -> ObjectReference:
    """What Events about the object name."""
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=seen.name,
        uid=seen.uid,
        namespace=seen.namespace,
    )


def is_controlled_by(obj: Mapping[str, Any], uid: str) -> bool:
    """Whether the object belongs to the one with this uid."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == uid for owner in owners)
