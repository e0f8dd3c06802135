"""Fields that a write cannot change, and whose ownership it therefore does not take: status in a write of the
object, spec in a write of its status. Knows kinds by name; knows no values.
"""

from typing import Final

from picokube.apiserver.apply.fieldset import EMPTY, FieldSet
from picokube.apiserver.resources import ResourceType

_STATUS: Final[FieldSet] = {"f:status": EMPTY}
_SPEC: Final[FieldSet] = {"f:spec": EMPTY}
_STATUS_WRITES: Final[dict[str, FieldSet]] = {
    "deployments.apps": {"f:spec": EMPTY, "f:metadata": {"f:labels": EMPTY}},
    "pods": {"f:spec": EMPTY, "f:metadata": {"f:deletionTimestamp": EMPTY, "f:ownerReferences": EMPTY}},
}
"""Kinds whose status writes put back more than the spec."""


def reset_fields(resource: ResourceType, subresource: str) -> FieldSet:
    """What a write through this subresource leaves as it was."""
    if "status" not in resource.subresources:
        return EMPTY
    if subresource == "status":
        return _STATUS_WRITES.get(resource.qualified, _SPEC)
    return _STATUS if subresource in ("", "finalize") else EMPTY
