"""What deleting means: options, preconditions, finalizers, grace. Shared by DELETE, collections and the collectors."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from kubekit.controller.evaluation import evaluated
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import upgraded
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.object_store import (
    INLINE_UPDATE,
    deletion_blockers,
    put_decision,
    remove_decision,
)
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject, invalid_options, unsupported
from picokube.apiserver.storage.store import Decision, Key, Stored
from picokube.apiserver.strategies.crds.status import CRDS, mark_deleted
from picokube.schema import ErrorType, FieldError

PROTECTED_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
_PROPAGATION = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How an object is to be deleted."""

    propagation: str | None = None
    grace_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


def delete_options(document: JsonObject) -> DeleteOptions:
    """Raises for options that Kubernetes refuses."""
    propagation = document.get("propagationPolicy")
    orphan = document.get("orphanDependents")
    if problems := _option_problems(document):
        raise invalid_options("DeleteOptions", problems)
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    grace = document.get("gracePeriodSeconds")
    if isinstance(grace, str) and not grace.lstrip("-").isdigit():
        raise errors.bad_request(
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"
        )
    preconditions = document.get("preconditions") or {}
    return DeleteOptions(
        propagation=propagation,
        grace_seconds=_seconds(int(grace)) if grace is not None else None,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run="All" in (document.get("dryRun") or ()),
    )


def _option_problems(document: JsonObject) -> list[FieldError]:
    propagation, dry_run = document.get("propagationPolicy"), list(document.get("dryRun") or ())
    problems: list[FieldError] = []
    if propagation is not None and document.get("orphanDependents") is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(
            FieldError(
                type=ErrorType.INVALID, field="propagationPolicy", bad_value=propagation, detail=detail
            )
        )
    elif propagation is not None and propagation not in _PROPAGATION:
        problems.append(
            unsupported("propagationPolicy", propagation, "Foreground", "Background", "Orphan", "nil")
        )
    if any(item != "All" for item in dry_run):
        problems.append(unsupported("dryRun", dry_run, "All"))
    return problems


def _seconds(grace: int) -> int:
    """A negative period means as short as possible, but not at once."""
    return grace if grace >= 0 else 1


@dataclass(slots=True, kw_only=True)
class DeleteResult:
    """What became of a deletion."""

    object: JsonObject
    gone: bool
    changed: bool


async def delete(
    context: ServerContext, resource: ResourceType, key: Key, options: DeleteOptions
) -> DeleteResult:
    """Remove an object, or mark it and leave it to those who hold it. Marking twice changes nothing."""
    done: DeleteResult | None = None

    async def change(stored: Stored | None) -> Decision:
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, key.name)
        return await evaluated(partial(decided, stored), size=len(stored.data), inline=INLINE_UPDATE)

    def decided(stored: Stored) -> Decision:
        nonlocal done
        obj = orjson.loads(upgraded(resource, stored).data)
        if resource.qualified == "namespaces" and key.name in PROTECTED_NAMESPACES:
            raise errors.forbidden("namespaces", "", key.name, "this namespace may not be deleted")
        check_preconditions(resource, obj, options)
        marked = _mark(context, resource, obj, options)
        gone = not deletion_blockers(obj)
        done = DeleteResult(object=obj, gone=gone, changed=(gone or marked) and not options.dry_run)
        if not done.changed:
            return None
        return remove_decision(obj) if gone else put_decision(obj)

    await context.store.change(key, change)
    if done is None:
        raise RuntimeError("the store did not ask for the change")
    if done.changed:
        context.notify(resource, done.object, gone=done.gone)
    return done


def check_preconditions(resource: ResourceType, obj: JsonObject, options: DeleteOptions) -> None:
    """A conflict here names the kind, where others name the resource."""
    meta = obj["metadata"]
    if resource.qualified == CRDS:
        _check_definition(resource, obj, options)
    if options.uid is not None and options.uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource.kind, resource.group, meta["name"], why)
    if options.resource_version is not None and options.resource_version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(resource.kind, resource.group, meta["name"], why)


def _check_definition(resource: ResourceType, obj: JsonObject, options: DeleteOptions) -> None:
    """Preconditions of a definition, with the messages of updates."""
    meta = obj["metadata"]
    for name, stated, found in (
        ("UID", options.uid, meta["uid"]),
        ("ResourceVersion", options.resource_version, meta["resourceVersion"]),
    ):
        if stated is not None and stated != found:
            why = f"Precondition failed: {name} in precondition: {stated}, {name} in object meta: {found}"
            raise errors.conflict(resource.plural, resource.group, meta["name"], why)


def _mark(context: ServerContext, resource: ResourceType, obj: JsonObject, options: DeleteOptions) -> bool:
    """Set what deletion sets; whether anything of it is new."""
    meta = obj["metadata"]
    if resource.qualified == CRDS and not meta.get("deletionTimestamp"):
        mark_deleted(obj, context.now())
        return True
    before = orjson.dumps(obj)
    if resource.qualified == CRDS:
        meta.setdefault("deletionGracePeriodSeconds", 0)
    wanted = _FINALIZERS.get(options.propagation or "")
    finalizers = [
        finalizer
        for finalizer in meta.get("finalizers") or ()
        if finalizer not in (FOREGROUND, ORPHAN) or not wanted
    ]
    if wanted:
        finalizers.append(wanted)
    _set(meta, "finalizers", finalizers)
    grace = _grace(resource, obj, options)
    if deletion_blockers(obj) or grace or resource.grace_seconds is not None:
        if not meta.get("deletionTimestamp"):
            meta["deletionTimestamp"] = context.after(grace)
            if resource.qualified == "namespaces":
                obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
            else:
                meta["deletionGracePeriodSeconds"] = grace
            if meta.get("generation"):
                meta["generation"] += 1
        elif options.grace_seconds is not None and grace < meta.get("deletionGracePeriodSeconds", 0):
            meta["deletionGracePeriodSeconds"] = grace
            meta["deletionTimestamp"] = context.after(grace)
    return orjson.dumps(obj) != before


def _grace(resource: ResourceType, obj: JsonObject, options: DeleteOptions) -> int:
    """The grace period: only pods on a node have one."""
    if resource.grace_seconds is None or not (obj.get("spec") or {}).get("nodeName"):
        return 0
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace_seconds is not None:
        return options.grace_seconds
    stated: Any = (obj.get("spec") or {}).get("terminationGracePeriodSeconds")
    return _seconds(int(stated)) if stated is not None else resource.grace_seconds


def _set(meta: JsonObject, name: str, value: list[str]) -> None:
    if value:
        meta[name] = value
    else:
        meta.pop(name, None)
