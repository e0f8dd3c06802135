"""DELETE of one object and of a collection."""

from dataclasses import replace

from picokube.apiserver import errors
from picokube.apiserver.body import PROTOBUF, media_type, read_json
from picokube.apiserver.deletion import DeleteOptions, delete, delete_options
from picokube.apiserver.handlers.list import matching
from picokube.apiserver.messages import Answer, Request, Response, json_response
from picokube.apiserver.representations import chosen
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.responses import object_answer, warning_headers
from picokube.apiserver.selection import selection_of
from picokube.apiserver.server_context import Serving, key_of

ANSWERED_WHOLE = frozenset({"pods", "serviceaccounts", "persistentvolumeclaims", "resourcequotas"})
"""Kinds whose deletion is answered with the object instead of a Status."""
ORPHANED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


async def delete_object(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """Gone at once, or marked and held by finalizers or a grace period."""
    options = _options(serving, request)
    warnings: list[str] = []
    if resource.orphans_by_default and options.propagation is None:
        options = replace(options, propagation="Orphan")
        warnings.append(ORPHANED)
    done = await delete(serving, resource, key_of(resource, target.namespace, target.name or ""), options)
    if not done.gone or (resource.plural in ANSWERED_WHOLE and not resource.group):
        return object_answer(request, resource, done.object, warnings=warnings)
    return json_response(_success(resource, done.object), headers=warning_headers(warnings))


def _success(resource: ResourceType, obj: JsonObject) -> JsonObject:
    details: JsonObject = {"name": obj["metadata"]["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": obj["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


async def delete_collection(
    serving: Serving, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Everything that the selectors mean, one by one; answered with what was there."""
    options = _options(serving, request)
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


def _options(serving: Serving, request: Request) -> DeleteOptions:
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
