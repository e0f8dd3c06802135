"""GET, POST, PUT and DELETE of objects and collections."""

import base64
import binascii
from dataclasses import dataclass, replace

import orjson

from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import upgraded, upgraded_snapshot
from picokube.apiserver.objects.admission import check_name_matches, check_numeric_version, decode_request
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.deletion import DeleteOptions, delete, delete_options
from picokube.apiserver.objects.object_store import create, update
from picokube.apiserver.objects.selectors import Selection, selection_of
from picokube.apiserver.printing.representations import also_warning, chosen, object_answer, warning_headers
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import PROTOBUF, media_type, read_json
from picokube.apiserver.protocol.messages import (
    Answer,
    JsonObject,
    Request,
    Response,
    Target,
    User,
    WriteOptions,
    forbidden,
    invalid_options,
    json_response,
    unsupported,
    write_options,
)
from picokube.apiserver.storage.store import Compacted, Snapshot, Stored
from picokube.schema import ErrorType, FieldError

MAX_DIGITS = 20


async def get(context: ServerContext, resource: ResourceType, target: Target, request: Request) -> Answer:
    """The newest committed state; every read here is consistent, so resourceVersion only needs to be a number."""
    check_revision(context, request)
    name = target.name or ""
    stored = context.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    shown = chosen(request)
    return Response(
        body=shown.one(resource, upgraded(resource, stored).data) + b"\n", content_type=shown.content_type
    )


def check_revision(context: ServerContext, request: Request) -> None:
    version = request.parameter("resourceVersion")
    if not version:
        return
    if not is_version(version):
        raise errors.internal(invalid_version(version))
    if int(version) > context.store.revision:
        raise too_large_version(context, int(version))


def is_version(text: str) -> bool:
    """Whether this is a number that a revision could be: plain digits, and not more of them than 64 bits hold."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def invalid_version(version: str) -> str:
    return (
        f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
    )


def too_large_version(context: ServerContext, requested: int) -> errors.ApiError:
    """A revision that lies ahead."""
    return errors.ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {requested}, current: {context.store.revision}",
        details={
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        headers=(("Retry-After", "1"),),
    )


LATEST = -1
"""In a token: continue with the newest revision."""

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


async def list_objects(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Objects in key order. A page is followed by a token that names its revision and its last key."""
    _check_options(request)
    selection = selection_of(request, resource)
    page = _page(request)
    snapshot = _snapshot(context, resource, target.namespace, request, page)
    found = [item for item in snapshot.objects if page.follows(item) and selection.matches(item)]
    meta: JsonObject = {"resourceVersion": str(snapshot.revision)}
    limit = page.limit
    if limit and len(found) > limit:
        meta["continue"] = _token_after(snapshot.revision, found[limit - 1].key[1:])
        if selection.is_everything:
            meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    elif resource.is_custom:
        meta["continue"] = ""
    shown = chosen(request)
    return Response(
        body=shown.many(resource, [item.data for item in found], meta), content_type=shown.content_type
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    limit: int = 0
    revision: int | None = None
    after: tuple[str, str] | None = None

    def follows(self, stored: Stored) -> bool:
        return self.after is None or (stored.key.namespace, stored.key.name) > self.after


def _page(request: Request) -> _Page:
    text = request.parameter("limit") or "0"
    try:
        limit = max(int(text), 0)
    except ValueError as error:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error
    token = request.parameter("continue")
    if not token:
        return _Page(limit=0 if request.parameter("resourceVersion") == "0" else limit)
    if request.parameter("resourceVersion") not in (None, "", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    document = b""
    try:
        document = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        found = orjson.loads(document)
    except binascii.Error as error:
        raise _bad_token("illegal base64 data at input byte 0") from error
    except ValueError as error:
        raise _bad_token(_not_json(document)) from error
    if not isinstance(found, dict) or found.get("v") != "meta.k8s.io/v1":
        version = found.get("v", "") if isinstance(found, dict) else ""
        raise _bad_token(f"server does not recognize this encoded version {version}")
    start = found.get("start")
    if not isinstance(start, str) or not isinstance(found.get("rv"), int):
        raise _bad_token("encoded start resourceVersion should not be 0")
    namespace, _, name = start.rstrip("\0").rpartition("/")
    return _Page(limit=limit, revision=found["rv"], after=(namespace, name))


def _bad_token(why: str) -> errors.ApiError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")


def _not_json(text: bytes) -> str:
    if not text:
        return "unexpected end of JSON input"
    shown = chr(text[0]) if 32 <= text[0] < 127 else f"\\u{text[0]:04x}"  # noqa: PLR2004 - printable ASCII
    return f"invalid character '{shown}' looking for beginning of value"


def _token_after(revision: int, last: tuple[str, str] | None) -> str:
    namespace, name = last or ("", "")
    start = f"{namespace}/{name}\0"
    document = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(document).decode().rstrip("=")


def _snapshot(
    context: ServerContext, resource: ResourceType, namespace: str | None, request: Request, page: _Page
) -> Snapshot:
    """The newest state; an older one for the next page of a list, or for resourceVersionMatch=Exact."""
    stored_as = resource.stored_as or resource.qualified
    revision = page.revision if page.revision is not None else _exact_revision(context, request, page)
    if revision is None or revision == LATEST:
        return upgraded_snapshot(resource, context.store.list(stored_as, namespace))
    try:
        return upgraded_snapshot(resource, context.store.list_at(stored_as, namespace, revision))
    except Compacted as error:
        if page.revision is not None:
            raise errors.Expired(_TOO_OLD, metadata={"continue": _token_after(LATEST, page.after)}) from error
        raise errors.Expired("The resourceVersion for the provided list is too old.") from error


def _exact_revision(context: ServerContext, request: Request, page: _Page) -> int | None:
    version = request.parameter("resourceVersion") or ""
    match = request.parameter("resourceVersionMatch") or ""
    if version and not is_version(version):
        raise errors.bad_request(f"invalid resource version: {invalid_version(version)}")
    requested = int(version or 0)
    if requested > context.store.revision:
        raise too_large_version(context, requested)
    exact = match == "Exact" or (page.limit and requested and not match)
    return requested if exact and requested else None


def _check_options(request: Request) -> None:
    version = request.parameter("resourceVersion") or ""
    match = request.parameter("resourceVersionMatch") or ""
    problems = []
    if match and not version:
        detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        problems.append(forbidden("resourceVersionMatch", detail))
    if match and request.parameter("continue"):
        detail = "resourceVersionMatch is forbidden when continue is provided"
        problems.append(forbidden("resourceVersionMatch", detail))
    if match not in ("", "Exact", "NotOlderThan"):
        problems.append(unsupported("resourceVersionMatch", match, "Exact", "NotOlderThan", ""))
    if match == "Exact" and version == "0":
        detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        problems.append(forbidden("resourceVersionMatch", detail))
    if request.parameter("sendInitialEvents") is not None:
        problems.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if problems:
        raise invalid_options("ListOptions", problems)


def matching(
    context: ServerContext, resource: ResourceType, namespace: str | None, selection: Selection
) -> Snapshot:
    """The newest objects that a selection means."""
    snapshot = upgraded_snapshot(
        resource, context.store.list(resource.stored_as or resource.qualified, namespace)
    )
    return Snapshot(snapshot.revision, [item for item in snapshot.objects if selection.matches(item)])


async def create_object(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """A new object, answered with 201 once it is durable."""
    options = write_options(request)
    if resource.namespaced and target.namespace is None:
        raise errors.bad_request("an empty namespace may not be set during creation")
    found = await decode_request(context, resource, target, request, options)
    if resource.review is not None:
        answer = _review(context, resource, found.object, request.user, options)
        return object_answer(request, resource, answer, status=201, warnings=found.warnings)
    with also_warning(found.warnings):
        written = await create(context, resource, target.namespace, found.object, options)
    warnings = [*found.warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, data=written.data, status=201, warnings=warnings)


def _review(
    context: ServerContext, resource: ResourceType, requested: JsonObject, user: User, options: WriteOptions
) -> JsonObject:
    """A question and its answer; neither is stored."""
    if resource.review is None:
        raise errors.method_not_allowed()
    requested.pop("status", None)
    resource.strategy.complete(requested)
    requested.pop("status", None)
    owned = managed_after_write(
        resource, None, requested, manager=options.manager, subresource="", now=context.now()
    )
    meta = requested["metadata"] | ({"managedFields": owned} if owned else {})
    return resource.review(requested | {"metadata": meta | {"creationTimestamp": context.now()}}, user)


async def update_object(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Replace the stored object; a given resourceVersion must be the stored one."""
    options = write_options(request, kind="UpdateOptions")
    found = await decode_request(context, resource, target, request, options, any_kind=True)
    check_name_matches(target, found.object)
    version = found.object["metadata"].get("resourceVersion")
    version = None if version == "0" else version
    check_numeric_version(version)
    key = key_of(resource, target.namespace, target.name or "")
    if context.store.get(key) is None and resource.create_on_update:
        if not options.dry_run:
            found.object["metadata"].pop("resourceVersion", None)
        written = await create(context, resource, target.namespace, found.object, options)
        return object_answer(request, resource, written.object, status=201, warnings=found.warnings)
    if not version and not resource.unconditional_update and context.store.get(key) is not None:
        problem = FieldError(
            type=ErrorType.INVALID,
            field="metadata.resourceVersion",
            bad_value=0,
            detail="must be specified for an update",
        )
        raise errors.invalid(resource.plural, resource.group, target.name or "", [problem])

    def replacement(_old: JsonObject) -> tuple[JsonObject, bool]:
        return found.object, False

    with also_warning(found.warnings):
        written = await update(
            context,
            resource,
            key,
            replacement,
            options,
            subresource=target.subresource,
            is_replacement=True,
            shares=True,
        )
    warnings = [*found.warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, data=written.data, warnings=warnings)


RETURNS_OBJECT = frozenset({"pods", "serviceaccounts", "persistentvolumeclaims", "resourcequotas"})
"""Kinds whose deletion returns the object instead of a Status."""
ORPHAN_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


async def delete_object(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Delete an object, or mark it if finalizers or a grace period delay the deletion."""
    options = _delete_options(context, request)
    warnings: list[str] = []
    if resource.orphans_by_default and options.propagation is None:
        options = replace(options, propagation="Orphan")
        warnings.append(ORPHAN_WARNING)
    done = await delete(context, resource, key_of(resource, target.namespace, target.name or ""), options)
    if not done.gone or (resource.plural in RETURNS_OBJECT and not resource.group):
        return object_answer(request, resource, done.object, warnings=warnings)
    return json_response(_success_status(resource, done.object), headers=warning_headers(warnings))


def _success_status(resource: ResourceType, obj: JsonObject) -> JsonObject:
    details: JsonObject = {"name": obj["metadata"]["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": obj["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


async def delete_collection(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Delete all matching objects one by one; returns the objects."""
    options = _delete_options(context, request)
    selection = selection_of(request, resource)
    snapshot = matching(context, resource, target.namespace, selection)
    for stored in snapshot.objects:
        try:
            await delete(context, resource, stored.key, options)
        except errors.ApiError as error:
            if error.reason != "NotFound":
                raise
    meta: JsonObject = {"resourceVersion": str(snapshot.revision)}
    if resource.is_custom:
        meta["continue"] = ""
    shown = chosen(request)
    items = [item.data for item in snapshot.objects]
    return Response(body=shown.many(resource, items, meta), content_type=shown.content_type)


def _check_kind(document: JsonObject) -> None:
    kind, version = document.get("kind") or "DeleteOptions", document.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise errors.bad_request(
            f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
        )


def _delete_options(context: ServerContext, request: Request) -> DeleteOptions:
    document: JsonObject = {}
    if request.body:
        if media_type(request) == PROTOBUF and context.protobuf is not None:
            document = context.protobuf(request.body)
        else:
            found = read_json(request.body)
            if not isinstance(found, dict):
                raise errors.bad_request("couldn't get version/kind; the delete options are not an object")
            document = found
            _check_kind(document)
    for name in ("propagationPolicy", "gracePeriodSeconds", "orphanDependents"):
        value = request.parameter(name)
        if value is not None and not request.body:
            document[name] = value == "true" if name == "orphanDependents" else value
            if name == "gracePeriodSeconds" and not value.lstrip("-").isdigit():
                raise errors.bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax')
    if request.query.get("dryRun"):
        document["dryRun"] = list(request.query["dryRun"])
    try:
        return delete_options(document)
    except (TypeError, ValueError, AttributeError) as error:
        raise errors.bad_request(f"cannot read DeleteOptions: {error}") from error
