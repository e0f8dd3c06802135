"""Who manages the replicas of an object, seen from its scale and back: the same managers with other paths. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from picokube.apiserver.apply.fieldset import EMPTY, MEMBER, FieldSet, difference
from picokube.apiserver.apply.managers import APPLY, Identity, Managers, Owned, read, written
from picokube.apiserver.scaling import steps

JsonObject = dict[str, Any]

SCALE_VERSION: Final = "autoscaling/v1"
REPLICAS: Final[FieldSet] = {"f:spec": {"f:replicas": EMPTY}}
Mappings = Mapping[str, str | None]
"""From an apiVersion of the kind to where it keeps its replicas; None where it has no scale."""


def to_scale(entries: list[JsonObject], mappings: Mappings) -> list[JsonObject]:
    """The managers of an object that own its replicas, as managers of its scale."""
    found: Managers = {}
    for identity, owned in read(entries, trusted=True).items():
        path = mappings.get(owned.api_version)
        if path and _has(owned.fields, path):
            found[_of_scale(identity)] = Owned(fields=REPLICAS, api_version=SCALE_VERSION, time=owned.time)
    return written(found)


def to_parent(
    entries: list[JsonObject], of_scale: list[JsonObject], mappings: Mappings, api_version: str
) -> list[JsonObject]:
    """The managers of the object after its scale was written: who lost the replicas there loses them here.

    A manager that is new by its scale has no time, as in a real server.
    """
    left = read(of_scale, trusted=True)
    found: Managers = {}
    for identity, owned in read(entries, trusted=True).items():
        if owned.api_version not in mappings:
            continue
        path = mappings[owned.api_version]
        if not path or not _has(owned.fields, path):
            found[identity] = owned
        elif _of_scale(identity) in left:
            found[identity] = owned
            del left[_of_scale(identity)]
        elif fields := difference(owned.fields, _only(path)):
            found[identity] = owned.owning(fields)
    own = mappings.get(api_version)
    for identity, owned in left.items():
        if own and _has(owned.fields, ".spec.replicas"):
            here = Identity.of(identity.manager, identity.operation, api_version, identity.subresource)
            found[here] = Owned(fields=_only(own), api_version=api_version)
    return written(found)


def _of_scale(identity: Identity) -> Identity:
    return identity if identity.operation == APPLY else identity._replace(api_version=SCALE_VERSION)


def _only(path: str) -> FieldSet:
    found: FieldSet = EMPTY
    for name in reversed(steps(path)):
        found = {f"f:{name}": found}
    return found


def _has(fields: FieldSet, path: str) -> bool:
    node: FieldSet = fields
    for name in steps(path):
        if f"f:{name}" not in node:
            return False
        node = node[f"f:{name}"]
    return not node or MEMBER in node
