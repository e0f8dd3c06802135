"""POST to a collection."""

from picokube.apiserver import errors
from picokube.apiserver.admission import admitted
from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.messages import Answer, Request, User
from picokube.apiserver.object_store import create
from picokube.apiserver.options import WriteOptions, write_options
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.responses import also_warning, object_answer
from picokube.apiserver.server_context import Serving


async def create_object(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """A new object, answered with 201 once it is durable."""
    options = write_options(request)
    if resource.namespaced and target.namespace is None:
        raise errors.bad_request("an empty namespace may not be set during creation")
    found = await admitted(serving, resource, target, request, options)
    if resource.review is not None:
        answer = _reviewed(serving, resource, found.object, request.user, options)
        return object_answer(request, resource, answer, status=201, warnings=found.warnings)
    with also_warning(found.warnings):
        written = await create(serving, resource, target.namespace, found.object, options)
    warnings = [*found.warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, data=written.data, status=201, warnings=warnings)


def _reviewed(
    serving: Serving, resource: ResourceType, asked: JsonObject, user: User, options: WriteOptions
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
