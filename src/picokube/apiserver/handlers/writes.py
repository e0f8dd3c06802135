"""POST, PUT and DELETE of an object, and DELETE of a collection."""

from dataclasses import replace

from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.handlers.reads import matching
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.admission import check_name_matches, decode_request
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.deletion import DeleteOptions, delete, delete_options
from picokube.apiserver.objects.object_store import create, update
from picokube.apiserver.objects.selectors import selection_of
from picokube.apiserver.printing.representations import chosen
from picokube.apiserver.printing.responses import also_warning, object_answer, warning_headers
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import PROTOBUF, media_type, read_json
from picokube.apiserver.protocol.messages import Answer, JsonObject, Request, Response, User, json_response
from picokube.apiserver.protocol.request_info import Target, WriteOptions, write_options
from picokube.schema import ErrorType, FieldError


async def create_object(
    serving: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """A new object, answered with 201 once it is durable."""
    options = write_options(request)
    if resource.namespaced and target.namespace is None:
        raise errors.bad_request("an empty namespace may not be set during creation")
    found = await decode_request(serving, resource, target, request, options)
    if resource.review is not None:
        answer = _review(serving, resource, found.object, request.user, options)
        return object_answer(request, resource, answer, status=201, warnings=found.warnings)
    with also_warning(found.warnings):
        written = await create(serving, resource, target.namespace, found.object, options)
    warnings = [*found.warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, data=written.data, status=201, warnings=warnings)


def _review(
    serving: ServerContext, resource: ResourceType, asked: JsonObject, user: User, options: WriteOptions
) -> JsonObject:
    """A question and its answer; neither is stored."""
    if resource.review is None:
        raise errors.method_not_allowed()
    asked.pop("status", None)
    resource.strategy.complete(asked)
    asked.pop("status", None)
    owned = managed_after_write(
        resource, None, asked, manager=options.manager, subresource="", now=serving.now()
    )
    meta = asked["metadata"] | ({"managedFields": owned} if owned else {})
    return resource.review(asked | {"metadata": meta | {"creationTimestamp": serving.now()}}, user)


async def update_object(
    serving: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Replace what is stored; a stated resourceVersion must be the stored one."""
    options = write_options(request, kind="UpdateOptions")
    found = await decode_request(serving, resource, target, request, options, any_kind=True)
    check_name_matches(target, found.object)
    version = found.object["metadata"].get("resourceVersion")
    version = None if version == "0" else version
    if version and not str(version).isdigit():
        raise errors.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    key = key_of(resource, target.namespace, target.name or "")
    if serving.store.get(key) is None and resource.create_on_update:
        if not options.dry_run:
            found.object["metadata"].pop("resourceVersion", None)
        written = await create(serving, resource, target.namespace, found.object, options)
        return object_answer(request, resource, written.object, status=201, warnings=found.warnings)
    if not version and not resource.unconditional_update and serving.store.get(key) is not None:
        problem = FieldError(
            type=ErrorType.INVALID,
            field="metadata.resourceVersion",
            bad_value=0,
            detail="must be specified for an update",
        )
        raise errors.invalid(resource.plural, resource.group, target.name or "", [problem])

    def replacement(old: JsonObject) -> tuple[JsonObject, bool]:
        del old
        return found.object, False

    with also_warning(found.warnings):
        written = await update(
            serving,
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
"""Kinds whose deletion is answered with the object instead of a Status."""
ORPHAN_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


async def delete_object(
    serving: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Gone at once, or marked and held by finalizers or a grace period."""
    options = _delete_options(serving, request)
    warnings: list[str] = []
    if resource.orphans_by_default and options.propagation is None:
        options = replace(options, propagation="Orphan")
        warnings.append(ORPHAN_WARNING)
    done = await delete(serving, resource, key_of(resource, target.namespace, target.name or ""), options)
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
    serving: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Everything that the selectors mean, one by one; answered with what was there."""
    options = _delete_options(serving, request)
    selection = selection_of(request, resource)
    snapshot = matching(serving, resource, target.namespace, selection)
    for stored in snapshot.objects:
        try:
            await delete(serving, resource, stored.key, options)
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


def _delete_options(serving: ServerContext, request: Request) -> DeleteOptions:
    document: JsonObject = {}
    if request.body:
        if media_type(request) == PROTOBUF and serving.protobuf is not None:
            document = serving.protobuf(request.body)
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
