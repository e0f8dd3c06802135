"""Who owns what after a create, an update or a patch. Pure; time is an argument."""

from typing import Any, Final

from picokube.apiserver.apply.comparison import Comparison, compare
from picokube.apiserver.apply.fieldset import EMPTY, FieldSet, contains, difference, union
from picokube.apiserver.apply.managers import (
    UPDATE,
    Identity,
    MalformedManagers,
    Managers,
    Owned,
    capped,
    read,
    written,
)
from picokube.apiserver.apply.merge_schema import MergeType, merge_type
from picokube.apiserver.apply.other_versions import conversion_problem
from picokube.apiserver.apply.reset_fields import reset_fields
from picokube.apiserver.apply.typed_paths import UnkeyedItem, fitting
from picokube.apiserver.resources import JsonObject, ResourceType

STRIPPED: Final[FieldSet] = {
    "f:apiVersion": EMPTY,
    "f:kind": EMPTY,
    "f:metadata": {
        ".": EMPTY,
        "f:clusterName": EMPTY,
        "f:creationTimestamp": EMPTY,
        "f:generation": EMPTY,
        "f:managedFields": EMPTY,
        "f:name": EMPTY,
        "f:namespace": EMPTY,
        "f:resourceVersion": EMPTY,
        "f:selfLink": EMPTY,
        "f:uid": EMPTY,
    },
}
"""What nobody ever owns."""

UNKNOWN_MANAGER = "unknown"


MAX_TRACKED_FIELDS: Final = 10_000


def managed_after_write(
    resource: ResourceType,
    old: JsonObject | None,
    new: JsonObject,
    *,
    manager: str,
    subresource: str,
    now: str,
    reset: FieldSet | None = None,
) -> list[JsonObject]:
    """The managedFields of an object that was created (no `old`), replaced or patched. Empty: nobody is tracked.

    `reset` are fields that this write cannot change; by default status, or spec in a write of the status.
    """
    managers, stored = _before(old, new, subresource)
    if (not managers and old is not None) or _is_wide(new):
        return []
    kind = merge_type(resource, structs=True)
    before = bare(old) if old is not None else empty_object(resource)
    if conversion_problem(resource, managers, before, bare(new)):
        return []
    try:
        change = compare(kind, before, bare(new))
    except UnkeyedItem:
        return []
    if stored is not None and not change:
        return stored
    ignored = reset_fields(resource, subresource) if reset is None else reset
    managers = after_update(
        resource,
        kind,
        managers,
        change,
        ignored,
        Identity.of(manager or UNKNOWN_MANAGER, UPDATE, resource.api_version, subresource),
        now,
    )
    return written(capped(managers))


def _is_wide(obj: JsonObject) -> bool:
    """Whether the object has more fields than are tracked: each costs time at every write. Lists count as one."""
    left, count = [obj], 0
    while left:
        found = left.pop()
        count += len(found)
        if count > MAX_TRACKED_FIELDS:
            return True
        left.extend(item for item in found.values() if isinstance(item, dict))
    return False


def _before(
    old: JsonObject | None, new: JsonObject, subresource: str
) -> tuple[Managers, list[JsonObject] | None]:
    """The managers to start from, and the stored entries if it is these. What a user sends counts if it is readable."""
    live = (old or {}).get("metadata", {}).get("managedFields")
    sent = None if subresource else new.get("metadata", {}).get("managedFields")
    if sent is not None and sent != live:
        if not sent or sent == [{}]:
            return {}, None
        try:
            return read(sent), None
        except MalformedManagers:
            pass
    return read(live, trusted=True), live


def after_update(
    resource: ResourceType,
    kind: MergeType,
    managers: Managers,
    change: Comparison,
    ignored: FieldSet,
    writer: Identity,
    now: str,
) -> Managers:
    """The managers after someone wrote a change: the writer owns what it changed, the others lose that."""
    seen = change.without(ignored)
    kept = lost(resource, kind, managers, change, seen)
    own = difference(seen.taken, STRIPPED)
    if own:
        before = kept.get(writer)
        kept[writer] = _owning_too(before, own, resource.api_version, now)
    return kept


def _owning_too(before: Owned | None, own: FieldSet, api_version: str, now: str) -> Owned:
    """What a manager owns who wrote some fields. Who writes what it owns already owns the same, since now."""
    if before is None:
        return Owned(fields=own, api_version=api_version, time=now)
    if contains(before.fields, own):
        return Owned(fields=before.fields, api_version=api_version, time=now, in_order=before.in_order)
    return Owned(fields=union(own, before.fields), api_version=api_version, time=now)


def lost(
    resource: ResourceType,
    kind: MergeType,
    managers: Managers,
    change: Comparison,
    seen: Comparison,
    but: Identity | None = None,
) -> Managers:
    """The managers without what changed under them; who has nothing left is gone. `but` one keeps all it has.

    Managers of another version see the change whole, where a kind is stored in one of its versions; otherwise they
    are forgotten.
    """
    kept: Managers = {}
    for identity, owned in managers.items():
        is_same = owned.api_version == resource.api_version
        if not is_same and not resource.stored_version:
            continue
        if identity == but:
            kept[identity] = owned
            continue
        applies = seen if is_same else change
        known = fitting(kind, owned.fields) if is_same or resource.is_custom else owned.fields
        fields = difference(difference(known, applies.taken), applies.removed)
        if fields:
            kept[identity] = owned.owning(fields)
    return kept


def bare(obj: JsonObject) -> JsonObject:
    """The object without its managedFields."""
    meta: Any = obj.get("metadata")
    if type(meta) is not dict or "managedFields" not in meta:
        return obj
    return {**obj, "metadata": {name: item for name, item in meta.items() if name != "managedFields"}}


def empty_object(resource: ResourceType) -> JsonObject:
    """What there is before there is an object."""
    return {"apiVersion": resource.api_version, "kind": resource.kind}
