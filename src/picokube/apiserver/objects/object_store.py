"""Creates and changes objects: the order of checks, what only the server sets, and the one place that stores.

A change is a pure function of the stored object, which nothing else changes meanwhile. Large objects are checked
outside the event loop. Knows no verb and no kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from kubekit.controller.evaluation import evaluated
from picokube.apiserver.apply.managed_fields import bare, managed_after_write
from picokube.apiserver.kinds.object_meta import changed_metadata_errors, finalizer_warnings, metadata_errors
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import (
    as_stored,
    object_in_version,
    ordered,
    upgraded,
    whole_floats_to_integers,
)
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import IGNORE, STRICT, JsonObject, WriteOptions
from picokube.apiserver.storage.store import Decision, Key, Put, Remove, Stored
from picokube.schema import ErrorType, FieldError, UnknownField

Mutation = Callable[[JsonObject], tuple[JsonObject, bool]]
"""From the stored object to the wanted one, and whether its managedFields are already up to date."""

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_IMMUTABLE = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_REPORTED_TWICE = frozenset({"uid", "deletionTimestamp"})
"""kube-apiserver checks these in two places and reports both."""


def checked_update(
    context: ServerContext,
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
        # Applying what is stored already changes nothing, not even defaults.
        resource.strategy.complete(obj, old)
    if resource.guard is not None and options.user is not None:
        resource.guard(obj, old, options.user)
    managed_fields = obj["metadata"].get("managedFields")
    if not managed:
        managed_fields = managed_after_write(
            resource, old, obj, manager=options.manager, subresource=subresource, now=context.now()
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
    if _timeless(obj) == _timeless(old):
        # Nothing changes; the time at which fields were last managed does not count.
        return None, warnings
    return obj, warnings


def _share_unchanged(obj: JsonObject, old: JsonObject) -> None:
    """Replace values that equal the stored ones by those: equal values of a typed object have equal types."""
    for name, value in obj.items():
        if name != "metadata" and value is not old.get(name) and value == old.get(name):
            obj[name] = old[name]


def set_managed(meta: JsonObject, managed_fields: list[JsonObject] | None) -> None:
    """Set managedFields. Fields that the server adds afterwards have no owner."""
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
    """Restore the deletion fields: a deletion cannot be undone."""
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
                    f"[]string{{{', '.join(orjson.dumps(item).decode() for item in added)}}}",
                )
            ]
    return problems


def _timeless(obj: JsonObject) -> dict[str, Any]:
    meta = obj["metadata"]
    managed = [
        {name: value for name, value in managed_field.items() if name != "time"}
        for managed_field in meta.get("managedFields", ())
    ]
    return obj | {"metadata": meta | {"managedFields": managed}}


GENERATED_NAME_BASE = 58
MAX_NAME_ATTEMPTS = 8
INLINE_UPDATE = 128 * 1024
"""An update looks mostly at what changes: larger objects than in a create are handled at once."""


@dataclass(slots=True, kw_only=True)
class WriteResult:
    """What became of a write."""

    object: JsonObject
    created: bool = False
    deleted: bool = False
    data: bytes | None = None
    """The stored bytes; None if nothing was stored, or if they are not in the requested version."""
    warnings: list[str] | None = None


def strict_check(
    resource: ResourceType, unknown: list[UnknownField], problems: list[str], options: WriteOptions
) -> list[str]:
    """Refuse, warn about, or ignore what the kind does not know; the warnings are returned."""
    found = [*problems, *(f'unknown field "{item.field}"' for item in unknown)]
    if not found or options.validation == IGNORE:
        return []
    if options.validation == STRICT:
        message = (
            f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
            f"strict decoding error: {', '.join(found)}"
        )
        raise errors.bad_request(message)
    return found


async def create(
    context: ServerContext,
    resource: ResourceType,
    namespace: str | None,
    obj: JsonObject,
    options: WriteOptions,
    *,
    managed: bool = False,
) -> WriteResult:
    """Create an object that was decoded already. With generateName, taken names are tried again.

    `managed`: its managedFields are up to date. A dry run returns the resourceVersion that was sent.
    """
    meta = obj.setdefault("metadata", {})
    _check_kind(context, resource, str(meta.get("name") or ""))
    check_namespace(context, resource, namespace, str(meta.get("name") or ""))
    base = str(meta.get("generateName") or "")
    generated = base and not meta.get("name")
    for _ in range(MAX_NAME_ATTEMPTS):
        if generated:
            meta["name"] = base[:GENERATED_NAME_BASE] + context.new_suffix()
        try:
            return await _create_named(context, resource, namespace, obj, options, managed=managed)
        except errors.ApiError as error:
            if not base or error.reason != "AlreadyExists":
                raise
            if not generated:
                raise _no_unique_name(error) from error
            last = error
    raise _no_unique_name(last)


def _no_unique_name(error: errors.ApiError) -> errors.ApiError:
    return errors.ApiError(
        error.code,
        error.reason,
        f"{error.message}, the server was not able to generate a unique name for the object",
        details=(error.details or {}) | {"retryAfterSeconds": 1},
        headers=(("Retry-After", "1"),),
    )


async def _create_named(
    context: ServerContext,
    resource: ResourceType,
    namespace: str | None,
    sent: JsonObject,
    options: WriteOptions,
    *,
    managed: bool,
) -> WriteResult:
    written = orjson.dumps(sent)
    size, obj = len(written), orjson.loads(written)
    stated = str(obj["metadata"].get("resourceVersion") or "")
    _stamp_new(context, resource, namespace, obj)
    prepare = partial(_prepare_new, resource, obj, options, managed=managed, now=context.now())
    warnings = await evaluated(prepare, size=size)
    if stated.isdigit() and int(stated) and not options.dry_run:
        raise errors.internal("resourceVersion should not be set on objects to be created")
    key = key_of(resource, namespace, obj["metadata"]["name"])
    kept = as_stored(resource, obj)

    def change(stored: Stored | None) -> Put | None:
        _check_kind(context, resource, key.name)
        if stored is not None:
            raise _already_exists(resource, stored)
        return None if options.dry_run else put_decision(kept)

    stored = await context.store.change(key, change)
    obj = object_in_version(resource, kept)
    if not options.dry_run:
        context.notify(resource, obj)
    elif stated:
        obj["metadata"]["resourceVersion"] = stated
    data = None
    if stored is not None and not options.dry_run:
        data = stored.data
        _cache(context, resource, stored, kept)
    return WriteResult(object=obj, created=True, data=data, warnings=warnings)


def _prepare_new(
    resource: ResourceType, obj: JsonObject, options: WriteOptions, *, managed: bool, now: str
) -> list[str]:
    """Complete and check a new object in place; the warnings are returned."""
    resource.strategy.complete(obj)
    if resource.guard is not None and options.user is not None:
        resource.guard(obj, None, options.user)
    managed_fields = obj["metadata"].get("managedFields")
    if not managed:
        managed_fields = managed_after_write(
            resource, None, obj, manager=options.manager, subresource="", now=now
        )
    resource.strategy.prepare_create(obj)
    set_managed(obj["metadata"], managed_fields)
    problems = [*metadata_errors(resource, obj["metadata"]), *resource.strategy.validate_create(obj)]
    if problems:
        raise invalid_object(resource, obj, problems)
    if resource.is_custom:
        whole_floats_to_integers(obj)
    return [*finalizer_warnings(resource, obj["metadata"]), *resource.strategy.warnings(obj, None)]


def _already_exists(resource: ResourceType, stored: Stored) -> errors.ApiError:
    error = errors.already_exists(resource.plural, resource.group, stored.key.name)
    if b'"deletionTimestamp"' not in stored.data:
        return error
    return errors.ApiError(
        error.code, error.reason, f"object is being deleted: {error.message}", details=error.details
    )


def _stamp_new(
    context: ServerContext, resource: ResourceType, namespace: str | None, obj: JsonObject
) -> None:
    """What the server alone sets."""
    meta = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        meta.pop(name, None)
    meta["uid"] = context.new_uid()
    meta["creationTimestamp"] = context.now()
    if namespace is not None and resource.namespaced:
        meta["namespace"] = namespace
    elif not resource.namespaced:
        meta.pop("namespace", None)
    if resource.has_generation:
        meta["generation"] = 1


def _check_kind(context: ServerContext, resource: ResourceType, name: str) -> None:
    """Nothing is created of a kind that is going away."""
    if not context.registry.takes_new(resource):
        why = "create not allowed while custom resource definition is terminating"
        raise errors.forbidden(resource.plural, resource.group, name, why)


def check_namespace(context: ServerContext, resource: ResourceType, namespace: str | None, name: str) -> None:
    """Nothing is created in a namespace that does not exist or is going away."""
    if not resource.namespaced or namespace is None:
        return
    stored = context.store.get(Key("namespaces", "", namespace))
    if stored is None:
        raise errors.not_found("namespaces", "", namespace)
    if b'"deletionTimestamp"' in stored.data and orjson.loads(stored.data)["metadata"].get(
        "deletionTimestamp"
    ):
        raise errors.forbidden(
            resource.plural,
            resource.group,
            name,
            f"unable to create new content in namespace {namespace} because it is being terminated",
            [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        )


async def update(
    context: ServerContext,
    resource: ResourceType,
    key: Key,
    mutation: Mutation,
    options: WriteOptions,
    *,
    subresource: str = "",
    is_replacement: bool = False,
    shares: bool = False,
) -> WriteResult:
    """Change an object by a function of the stored one. If nothing changes, nothing is written.

    A replacement states a whole object; another uid in it means another object. A mutation that `shares` leaves the
    object unchanged, and its result may share parts with it; any other mutation gets a copy.
    """
    written: WriteResult | None = None
    changed = False

    async def change(stored: Stored | None) -> Decision:
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, key.name)
        found = upgraded(resource, stored)
        known = context.last_written.of(stored) if found is stored else None
        decide = partial(decided, found, known)
        return await evaluated(decide, size=max(options.size, len(stored.data)), inline=INLINE_UPDATE)

    def decided(found: Stored, known: JsonObject | None) -> Decision:
        nonlocal written, changed
        # Never mutated: the next change may receive the same object.
        as_it_is = orjson.loads(found.data) if known is None else known
        old = object_in_version(resource, as_it_is)
        # An object that is stored in another version lacks the defaults of this one.
        wanted = mutation if shares and old is as_it_is else _on_copy(mutation)
        wanted = replacement_of(resource, old, wanted) if is_replacement else wanted
        obj, warnings = checked_update(context, resource, old, wanted, options, subresource=subresource)
        changed = obj is not None and not options.dry_run
        kept = None if obj is None else as_stored(resource, obj)
        written = WriteResult(object=old if kept is None else kept, warnings=warnings)
        if kept is None or options.dry_run:
            return None
        if kept["metadata"].get("deletionTimestamp") and not deletion_blockers(kept):
            written.deleted = True
            # A copy: the old object is shared, and the last state has its own revision.
            return remove_decision({**old, "metadata": {**old["metadata"]}})
        return put_decision(kept)

    stored = await context.store.change(key, change)
    if written is None:
        raise RuntimeError("the store did not ask for the change")
    if changed and not written.deleted and stored is not None:
        written.data = stored.data
        _cache(context, resource, stored, written.object)
    written.object = object_in_version(resource, written.object)
    if changed:
        context.notify(resource, written.object, gone=written.deleted)
    return written


def _cache(context: ServerContext, resource: ResourceType, stored: Stored, obj: JsonObject) -> None:
    """Keep the decoded object for the next change, for kinds that are written often and never mutated in place."""
    if obj.get("apiVersion") == resource.api_version and (
        resource.is_custom or getattr(resource.strategy, "settles", False)
    ):
        context.last_written.keep(stored, obj)


def _on_copy(mutation: Mutation) -> Mutation:
    return lambda old: mutation(orjson.loads(orjson.dumps(old)))


def deletion_blockers(obj: JsonObject) -> list[str]:
    """What keeps a deleted object: finalizers, and a grace period that has not ended."""
    meta = obj["metadata"]
    held = list(meta.get("finalizers") or [])
    if meta.get("deletionGracePeriodSeconds"):
        held.append("grace")
    return held + list(
        (obj.get("spec") or {}).get("finalizers") or [] if obj.get("kind") == "Namespace" else []
    )


def put_decision(obj: JsonObject) -> Put:
    """Store the object under its own revision."""
    meta = obj["metadata"]
    return Put(
        uid=meta["uid"],
        render=_renderer(obj),
        labels=meta.get("labels") or {},
        owners=tuple(owner["uid"] for owner in meta.get("ownerReferences") or ()),
    )


def remove_decision(obj: JsonObject) -> Remove:
    return Remove(render=_renderer(obj))


def _renderer(obj: JsonObject) -> Callable[[int], bytes]:
    def render(revision: int) -> bytes:
        obj["metadata"]["resourceVersion"] = str(revision)
        return orjson.dumps(ordered(obj))

    return render


def invalid_object(
    resource: ResourceType, obj: dict[str, Any], problems: list[FieldError]
) -> errors.ApiError:
    return errors.invalid(resource.kind, resource.stored_group, obj["metadata"].get("name") or "", problems)
