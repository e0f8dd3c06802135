"""What an update may change: metadata the server guards, generation, and optimistic locking. Pure but for the clock
that stamps managed fields; stores nothing.
"""

from collections.abc import Callable
from typing import Any

import orjson

from picokube.apiserver.apply.managed_fields import bare, managed_after_write
from picokube.apiserver.kinds.object_meta import changed_metadata_errors, finalizer_warnings
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import whole_floats_to_integers
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject
from picokube.apiserver.protocol.request_info import WriteOptions
from picokube.schema import ErrorType, FieldError

Mutation = Callable[[JsonObject], tuple[JsonObject, bool]]
"""From the stored object to the wanted one; the flag says that managedFields are already right."""

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_IMMUTABLE = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_REPORTED_TWICE = frozenset({"uid", "deletionTimestamp"})
"""kube-apiserver checks these at two places and tells both in the causes."""


def checked_update(
    serving: ServerContext,
    resource: ResourceType,
    old: JsonObject,
    mutation: Mutation,
    options: WriteOptions,
    *,
    subresource: str,
) -> tuple[JsonObject | None, list[str]]:
    """The object to store, or None if nothing changes; and warnings."""
    obj, managed = mutation(old)
    meta = obj.setdefault("metadata", {})
    if not resource.is_custom:
        _share_unchanged(obj, old)
    check_version(resource, old, meta)
    _keep_server_fields(old, meta)
    if not (managed and bare(obj) == bare(old)):
        # Who applies what is there already leaves even defaults as they are.
        resource.strategy.complete(obj, old)
    if resource.guard is not None and options.user is not None:
        resource.guard(obj, old, options.user)
    managed_fields = obj["metadata"].get("managedFields")
    if not managed:
        managed_fields = managed_after_write(
            resource, old, obj, manager=options.manager, subresource=subresource, now=serving.now()
        )
    _keep_deletion(old, obj["metadata"])
    resource.strategy.prepare_update(obj, old, subresource)
    meta = obj["metadata"]
    set_managed(meta, managed_fields)
    _advance_generation(resource, obj, old, subresource)
    problems = [
        *_metadata_update_errors(old, meta),
        *changed_metadata_errors(resource, meta, old["metadata"], subresource),
    ]
    if resource.is_custom and subresource != "status" and (wrong := _type_errors(resource, obj)):
        group = str(obj["apiVersion"]).rpartition("/")[0]
        raise errors.invalid(obj["kind"], group, old["metadata"]["name"], [*problems, *wrong])
    problems += resource.strategy.validate_update(obj, old, subresource)
    if problems:
        raise errors.invalid(resource.kind, resource.stored_group, old["metadata"]["name"], problems)
    if resource.is_custom:
        whole_floats_to_integers(obj, old)
    warnings = [*finalizer_warnings(resource, meta, old["metadata"]), *resource.strategy.warnings(obj, old)]
    if _is_unchanged(obj, old):
        return None, warnings
    return obj, warnings


def _share_unchanged(obj: JsonObject, old: JsonObject) -> None:
    """What is equal to what is stored becomes the same: equal values of a typed object are of equal types."""
    for name, value in obj.items():
        if name != "metadata" and value is not old.get(name) and value == old.get(name):
            obj[name] = old[name]


def set_managed(meta: JsonObject, managed_fields: list[JsonObject] | None) -> None:
    """Fields are owned as the writer left them: what the server adds afterwards belongs to nobody."""
    if managed_fields:
        meta["managedFields"] = managed_fields
    else:
        meta.pop("managedFields", None)


def replacement_of(resource: ResourceType, old: JsonObject, mutation: Mutation) -> Mutation:
    """The mutation, refused if it states the uid of another object."""

    def checked(copy: JsonObject) -> tuple[JsonObject, bool]:
        obj, managed = mutation(copy)
        uid, stored_uid = obj.get("metadata", {}).get("uid"), old["metadata"]["uid"]
        if uid and uid != stored_uid:
            why = (
                f"StorageError: invalid object, Code: 4, Key: {registry_key(resource, old)}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {stored_uid}"
            )
            raise errors.conflict(resource.plural, resource.group, old["metadata"]["name"], why)
        return obj, managed

    return checked


def check_version(resource: ResourceType, old: JsonObject, meta: JsonObject) -> None:
    """Optimistic locking: a stated resourceVersion must be the stored one."""
    version = meta.get("resourceVersion")
    if version not in (None, "", "0") and version != old["metadata"]["resourceVersion"]:
        raise errors.conflict(resource.plural, resource.group, old["metadata"]["name"], _MODIFIED)


def registry_key(resource: ResourceType, obj: JsonObject) -> str:
    """The key as kube-apiserver's messages show it."""
    meta = obj["metadata"]
    place = f"{resource.group}/{resource.plural}" if resource.is_custom else resource.plural
    parts = ["/registry", place, meta.get("namespace") or "", meta["name"]]
    return "/".join(part for part in parts if part)


def _keep_server_fields(old: JsonObject, meta: JsonObject) -> None:
    before = old["metadata"]
    if not meta.get("managedFields"):
        meta.pop("managedFields", None)
    for name in ("finalizers", "ownerReferences", "labels", "annotations"):
        if not meta.get(name):
            meta.pop(name, None)
    for name in ("uid", "namespace", "name"):
        if not meta.get(name) and name in before:
            meta[name] = before[name]
    for name in ("resourceVersion", "creationTimestamp", "generation", "selfLink"):
        meta.pop(name, None)
        if name in before:
            meta[name] = before[name]


def _keep_deletion(old: JsonObject, meta: JsonObject) -> None:
    """A deletion is not taken back. Who states another time owns it all the same."""
    before = old["metadata"]
    if before.get("deletionTimestamp"):
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    if meta.get("deletionGracePeriodSeconds") is None and "deletionGracePeriodSeconds" in before:
        meta["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]


def _type_errors(resource: ResourceType, obj: JsonObject) -> list[FieldError]:
    wanted = {"kind": resource.kind, "apiVersion": resource.api_version}
    return [
        FieldError(type=ErrorType.INVALID, field=name, bad_value=obj[name], detail=f"must be {value}")
        for name, value in wanted.items()
        if obj[name] != value
    ]


def _advance_generation(resource: ResourceType, obj: JsonObject, old: JsonObject, subresource: str) -> None:
    """The generation rises when anything but metadata and status changes."""
    if not resource.has_generation or subresource == "status":
        return
    if _desired(obj) != _desired(old):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _desired(obj: JsonObject) -> JsonObject:
    return {
        name: value for name, value in obj.items() if name not in ("metadata", "status", "apiVersion", "kind")
    }


def _metadata_update_errors(old: JsonObject, meta: JsonObject) -> list[FieldError]:
    before = old["metadata"]
    problems = [
        FieldError(
            type=ErrorType.INVALID,
            field=f"metadata.{name}",
            bad_value=meta.get(name),
            detail="field is immutable",
        )
        for name in ("name", "namespace", *_IMMUTABLE)
        if meta.get(name) != before.get(name)
        for _ in range(2 if name in _REPORTED_TWICE else 1)
    ]
    if before.get("deletionTimestamp"):
        added = [
            finalizer
            for finalizer in meta.get("finalizers") or ()
            if finalizer not in (before.get("finalizers") or ())
        ]
        if added:
            problems += 2 * [
                FieldError(
                    type=ErrorType.FORBIDDEN,
                    field="metadata.finalizers",
                    detail="no new finalizers can be added if the object is being deleted, found new finalizers "
                    f"[]string{{{', '.join(_json_quoted(item) for item in added)}}}",
                )
            ]
    return problems


def _json_quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _is_unchanged(obj: JsonObject, old: JsonObject) -> bool:
    """Whether a write would change anything; when fields were last managed is nothing."""
    return _timeless(obj) == _timeless(old)


def _timeless(obj: JsonObject) -> dict[str, Any]:
    meta = obj["metadata"]
    managed = [
        {name: value for name, value in managed_field.items() if name != "time"}
        for managed_field in meta.get("managedFields", ())
    ]
    return obj | {"metadata": meta | {"managedFields": managed}}
