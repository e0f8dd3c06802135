"""How objects are created and changed: the order of checks, what the server sets itself, and the one place that puts.

A change is prepared and checked in a pure function of the stored object, while nobody else changes that object. Large
objects are checked beside the event loop.
Knows no verb and no kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from kubekit.controller.evaluation import evaluated
from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.kinds.object_meta import finalizer_warnings, metadata_errors
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import (
    as_stored,
    object_in_version,
    ordered,
    upgraded,
    whole_floats_to_integers,
)
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.updating import Mutation, checked_update, replacement_of, set_managed
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject
from picokube.apiserver.protocol.request_info import IGNORE, STRICT, WriteOptions
from picokube.apiserver.storage.store import Decision, Key, Put, Remove, Stored
from picokube.schema import FieldError, UnknownField

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
    """The bytes that were stored; None where nothing was, or where they are not what is shown."""
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
    serving: ServerContext,
    resource: ResourceType,
    namespace: str | None,
    obj: JsonObject,
    options: WriteOptions,
    *,
    managed: bool = False,
) -> WriteResult:
    """Create an object that was decoded already. With generateName, taken names are tried again.

    `managed` says that its managedFields are right as they are. A dry run shows the resourceVersion that was sent.
    """
    meta = obj.setdefault("metadata", {})
    _check_kind(serving, resource, str(meta.get("name") or ""))
    check_namespace(serving, resource, namespace, str(meta.get("name") or ""))
    base = str(meta.get("generateName") or "")
    generated = base and not meta.get("name")
    for _ in range(MAX_NAME_ATTEMPTS):
        if generated:
            meta["name"] = base[:GENERATED_NAME_BASE] + serving.new_suffix()
        try:
            return await _create_named(serving, resource, namespace, obj, options, managed=managed)
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
    serving: ServerContext,
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
    _stamp_new(serving, resource, namespace, obj)
    prepare = partial(_prepare_new, resource, obj, options, managed=managed, now=serving.now())
    warnings = await evaluated(prepare, size=size)
    if stated.isdigit() and int(stated) and not options.dry_run:
        raise errors.internal("resourceVersion should not be set on objects to be created")
    key = key_of(resource, namespace, obj["metadata"]["name"])
    kept = as_stored(resource, obj)

    def change(stored: Stored | None) -> Put | None:
        _check_kind(serving, resource, key.name)
        if stored is not None:
            raise _already_exists(resource, stored)
        return None if options.dry_run else put_decision(kept)

    stored = await serving.store.change(key, change)
    obj = object_in_version(resource, kept)
    if not options.dry_run:
        serving.tell(resource, obj)
    elif stated:
        obj["metadata"]["resourceVersion"] = stated
    data = None
    if stored is not None and not options.dry_run:
        data = stored.data
        _cache(serving, resource, stored, kept)
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
    serving: ServerContext, resource: ResourceType, namespace: str | None, obj: JsonObject
) -> None:
    """What the server alone sets."""
    meta = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"):
        meta.pop(name, None)
    meta["uid"] = serving.new_uid()
    meta["creationTimestamp"] = serving.now()
    if namespace is not None and resource.namespaced:
        meta["namespace"] = namespace
    elif not resource.namespaced:
        meta.pop("namespace", None)
    if resource.has_generation:
        meta["generation"] = 1


def _check_kind(serving: ServerContext, resource: ResourceType, name: str) -> None:
    """Nothing is created of a kind that is going away."""
    if not serving.registry.takes_new(resource):
        why = "create not allowed while custom resource definition is terminating"
        raise errors.forbidden(resource.plural, resource.group, name, why)


def check_namespace(serving: ServerContext, resource: ResourceType, namespace: str | None, name: str) -> None:
    """Nothing is created in a namespace that does not exist or is going away."""
    if not resource.namespaced or namespace is None:
        return
    stored = serving.store.get(Key("namespaces", "", namespace))
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
    serving: ServerContext,
    resource: ResourceType,
    key: Key,
    mutation: Mutation,
    options: WriteOptions,
    *,
    subresource: str = "",
    is_replacement: bool = False,
    shares: bool = False,
) -> WriteResult:
    """Change an object by a function of what is stored. No change at all writes nothing.

    A replacement states a whole object; another uid in it means another object. A mutation that `shares` leaves the
    object it is given as it is, and its answer may share parts with it; any other is given a copy.
    """
    written: WriteResult | None = None
    changed = False

    async def change(stored: Stored | None) -> Decision:
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, key.name)
        found = upgraded(resource, stored)
        known = serving.last_written.of(stored) if found is stored else None
        decide = partial(decided, found, known)
        return await evaluated(decide, size=max(options.size, len(stored.data)), inline=INLINE_UPDATE)

    def decided(found: Stored, known: JsonObject | None) -> Decision:
        nonlocal written, changed
        # Nobody changes it: the next writer may be given the same.
        as_it_is = orjson.loads(found.data) if known is None else known
        old = object_in_version(resource, as_it_is)
        # What was stored in another version is not complete in this one.
        wanted = mutation if shares and old is as_it_is else _on_copy(mutation)
        wanted = replacement_of(resource, old, wanted) if is_replacement else wanted
        obj, warnings = checked_update(serving, resource, old, wanted, options, subresource=subresource)
        changed = obj is not None and not options.dry_run
        kept = None if obj is None else as_stored(resource, obj)
        written = WriteResult(object=old if kept is None else kept, warnings=warnings)
        if kept is None or options.dry_run:
            return None
        if kept["metadata"].get("deletionTimestamp") and not deletion_blockers(kept):
            written.deleted = True
            # What it was may be known to others, and its last state has a revision of its own.
            return remove_decision({**old, "metadata": {**old["metadata"]}})
        return put_decision(kept)

    stored = await serving.store.change(key, change)
    if written is None:
        raise RuntimeError("the store did not ask for the change")
    if changed and not written.deleted and stored is not None:
        written.data = stored.data
        _cache(serving, resource, stored, written.object)
    written.object = object_in_version(resource, written.object)
    if changed:
        serving.tell(resource, written.object, gone=written.deleted)
    return written


def _cache(serving: ServerContext, resource: ResourceType, stored: Stored, obj: JsonObject) -> None:
    """For the next one to write it; of kinds that are written again and again, and that nobody changes in place."""
    if obj.get("apiVersion") == resource.api_version and (
        resource.is_custom or getattr(resource.strategy, "settles", False)
    ):
        serving.last_written.keep(stored, obj)


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
