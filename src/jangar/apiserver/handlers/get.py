"""GET of one object."""

from jangar.apiserver import errors
from jangar.apiserver.messages import Answer, Request, Response
from jangar.apiserver.representations import chosen
from jangar.apiserver.resources import ResourceType
from jangar.apiserver.serving import Serving, key_of
from jangar.apiserver.target import Target


async def get(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """The newest committed state; every read here is consistent, so resourceVersion only needs to be a number."""
    check_revision(request)
    name = target.name or ""
    stored = serving.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    shown = chosen(request)
    return Response(body=shown.one(resource, stored.data) + b"\n", content_type=shown.content_type)


def check_revision(request: Request) -> None:
    version = request.parameter("resourceVersion")
    if version and not version.isdigit():
        raise errors.internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
