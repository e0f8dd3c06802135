"""POST to a collection."""

from jangar.apiserver import errors
from jangar.apiserver.admission import admitted
from jangar.apiserver.answers import object_answer
from jangar.apiserver.messages import Answer, Request
from jangar.apiserver.options import write_options
from jangar.apiserver.resources import ResourceType
from jangar.apiserver.serving import Serving
from jangar.apiserver.target import Target
from jangar.apiserver.writing import create


async def create_object(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """A new object, answered with 201 once it is durable."""
    options = write_options(request)
    if resource.namespaced and target.namespace is None:
        raise errors.bad_request("an empty namespace may not be set during creation")
    found = admitted(serving, resource, target, request, options)
    if resource.review is not None:
        return object_answer(
            request,
            resource,
            resource.review(found.object, request.user),
            status=201,
            warnings=found.warnings,
        )
    written = await create(serving, resource, target.namespace, found.object, options)
    warnings = [*found.warnings, *(written.warnings or ())]
    return object_answer(request, resource, written.object, status=201, warnings=warnings)
