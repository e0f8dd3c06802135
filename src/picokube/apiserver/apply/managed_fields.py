"""Field ownership: managedFields as they are stored and used, and who owns what after a create, update or patch.

Pure; time is an argument.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from picokube.apiserver.apply.comparison import Comparison, compare
from picokube.apiserver.apply.fieldset import (
    EMPTY,
    FieldSet,
    MalformedFields,
    contains,
    difference,
    in_order,
    json_text,
    parsed,
    union,
)
from picokube.apiserver.apply.merge_schema import MergeType, merge_type
from picokube.apiserver.apply.typed_paths import UnkeyedItem, fitting, type_problems
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol.messages import JsonObject
from picokube.schema.go_text import go_quote

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10
ANCIENT = "ancient-changes"


class MalformedManagers(Exception):
    """managedFields that cannot be read."""


class Identity(NamedTuple):
    """What makes two entries one. An applier is the same in every version; its version is left empty."""

    manager: str
    operation: str
    api_version: str
    subresource: str

    @classmethod
    def of(cls, manager: str, operation: str, api_version: str, subresource: str) -> "Identity":
        return cls(manager, operation, "" if operation == APPLY else api_version, subresource)

    def sort_text(self) -> str:
        """The text by which Kubernetes sorts managers."""
        names = ("manager", "operation", "apiVersion", "subresource")
        parts = [f'"{name}":{json_text(value)}' for name, value in zip(names, self, strict=True) if value]
        return f"{{{','.join(parts)}}}"

    def __str__(self) -> str:
        """As a conflict names it."""
        text = go_quote(self.manager)
        if self.subresource:
            text = f"{text} with subresource {go_quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The fields that a manager owns in one version, and since when. `stored` is the entry that they were read from."""

    fields: FieldSet
    api_version: str
    time: str | None = None
    stored: dict[str, Any] | None = None
    in_order: bool = False
    """Whether the fields are known to be in the order of FieldsV1: stored ones are, and their subsets."""

    def owning(self, fields: FieldSet) -> "Owned":
        """The same manager with other fields."""
        return self if fields is self.fields else replace(self, fields=fields, stored=None)


Managers = dict[Identity, Owned]


def read_managers(entries: Iterable[Any] | None, *, trusted: bool = False) -> Managers:
    """Managers from managedFields. `trusted` entries are our own and need no checks."""
    found: Managers = {}
    for index, entry in enumerate(entries or ()):
        if not trusted:
            _check(index, entry)
        version = entry["apiVersion"]
        identity = Identity.of(
            entry.get("manager") or "", entry["operation"], version, entry.get("subresource") or ""
        )
        fields = entry.get("fieldsV1") or EMPTY
        try:
            found[identity] = Owned(
                fields=fields if trusted else parsed(fields),
                api_version=version,
                time=entry.get("time") if trusted else _stored_time(entry.get("time")),
                stored=entry if trusted else None,
                in_order=trusted,
            )
        except MalformedFields as error:
            raise MalformedManagers(f"error decoding versioned set: {error}") from error
    return found


def _check(index: int, entry: Any) -> None:
    if not isinstance(entry, dict) or entry.get("operation") not in (APPLY, UPDATE):
        raise MalformedManagers("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise MalformedManagers("apiVersion must not be empty")
    kind = entry.get("fieldsType")
    if not kind:
        raise MalformedManagers(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        raise MalformedManagers(f"invalid fieldsType {go_quote(str(kind))} in managed fields entry {index}")


def _stored_time(time: Any) -> str | None:
    """A time as it is stored: UTC, whole seconds."""
    if not isinstance(time, str):
        return None
    if len(time) == len("2006-01-02T15:04:05Z") and time[-1] == "Z":
        return time
    try:
        return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError as error:
        raise MalformedManagers(f"{time!r} is no time") from error


def managed_fields_of(managers: Managers) -> list[dict[str, Any]]:
    """The managedFields of managers: appliers first, then by age and name."""
    ordered = sorted(
        managers.items(),
        key=lambda item: (
            item[0].operation,
            item[1].time or "",
            item[0].manager,
            item[1].api_version,
            item[0].subresource,
        ),
    )
    return [owned.stored or _entry(identity, owned) for identity, owned in ordered]


def _entry(identity: Identity, owned: Owned) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    if identity.manager:
        entry["manager"] = identity.manager
    entry["operation"] = identity.operation
    entry["apiVersion"] = owned.api_version
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields if owned.in_order else in_order(owned.fields)
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def capped(managers: Managers) -> Managers:
    """At most ten updaters: the oldest of a version are thrown together."""
    updaters = [identity for identity in managers if identity.operation == UPDATE]
    surplus = len(updaters) - MAX_UPDATERS
    if surplus <= 0:
        return managers
    updaters.sort(key=lambda identity: (managers[identity].time or "", identity.sort_text()))
    kept = dict(managers)
    first: dict[str, Identity] = {}
    for identity in updaters:
        if surplus <= 0:
            break
        version = managers[identity].api_version
        if version not in first:
            first[version] = identity
            continue
        bucket = Identity.of(ANCIENT, UPDATE, version, "")
        if bucket not in kept:
            kept[bucket] = kept.pop(first[version])
        fields = union(managers[identity].fields, kept[bucket].fields)
        kept[bucket] = Owned(fields=fields, api_version=version, time=managers[identity].time)
        if identity != bucket:
            del kept[identity]
        surplus -= 1
    return kept


def deep_copied(value: Any) -> Any:
    """A JSON value that shares nothing with another."""
    return orjson.loads(orjson.dumps(value))


_STATUS: Final[FieldSet] = {"f:status": EMPTY}
_SPEC: Final[FieldSet] = {"f:spec": EMPTY}
_STATUS_WRITES: Final[dict[str, FieldSet]] = {
    "deployments.apps": {"f:spec": EMPTY, "f:metadata": {"f:labels": EMPTY}},
    "pods": {"f:spec": EMPTY, "f:metadata": {"f:deletionTimestamp": EMPTY, "f:ownerReferences": EMPTY}},
}
"""Kinds whose status writes restore more than the spec."""


def reset_fields(resource: ResourceType, subresource: str) -> FieldSet:
    """What a write through this subresource leaves as it was."""
    if "status" not in resource.subresources:
        return EMPTY
    if subresource == "status":
        return _STATUS_WRITES.get(resource.qualified, _SPEC)
    return _STATUS if subresource in ("", "finalize") else EMPTY


def conversion_problem(resource: ResourceType, managers: Managers, old: JsonObject, new: JsonObject) -> str:
    """Why a change cannot be shown in the version of one of the managers; empty if it can."""
    versions = {owned.api_version for owned in managers.values()} - {resource.api_version}
    for version in sorted(versions) if resource.version_schemas else ():
        if version not in resource.version_schemas:
            return (
                f"failed to convert old object: request to convert CR to an invalid group/version: {version}"
            )
        kind = merge_type(replace(resource, schema=resource.version_schemas[version]))
        for which, obj in (("old", old), ("new", new)):
            if problem := type_problems(kind, obj):
                return f"failed to convert {which} object: {problem}"
    return ""


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
"""Fields that no manager owns."""

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
    """The managedFields of an object that was created (no `old`), replaced or patched. Empty: fields are not tracked.

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
    return managed_fields_of(capped(managers))


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
            return read_managers(sent), None
        except MalformedManagers:
            pass
    return read_managers(live, trusted=True), live


def after_update(
    resource: ResourceType,
    kind: MergeType,
    managers: Managers,
    change: Comparison,
    ignored: FieldSet,
    writer: Identity,
    now: str,
) -> Managers:
    """The managers after a write: the writer owns the changed fields, the others lose them."""
    seen = change.without(ignored)
    kept = lost(resource, kind, managers, change, seen)
    own = difference(seen.taken, STRIPPED)
    if own:
        before = kept.get(writer)
        kept[writer] = _owning_too(before, own, resource.api_version, now)
    return kept


def _owning_too(before: Owned | None, own: FieldSet, api_version: str, now: str) -> Owned:
    """The fields of a manager after a write. Writing fields that it owns already only updates the time."""
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
    """The managers without the fields that changed; managers without fields are removed. `but` keeps all of its fields.

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
