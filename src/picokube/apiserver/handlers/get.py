"""GET of one object."""

from picokube.apiserver import errors
from picokube.apiserver.messages import Answer, Request, Response
from picokube.apiserver.representations import chosen
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import ResourceType
from picokube.apiserver.server_context import Serving, key_of
from picokube.apiserver.stored_forms import current

MAX_DIGITS = 20


async def get(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
    """The newest committed state; every read here is consistent, so resourceVersion only needs to be a number."""
    check_revision(serving, request)
    name = target.name or ""
    stored = serving.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    shown = chosen(request)
    return Response(
        body=shown.one(resource, current(resource, stored).data) + b"\n", content_type=shown.content_type
    )


def check_revision(serving: Serving, request: Request) -> None:
    version = request.parameter("resourceVersion")
    if not version:
        return
    if not is_version(version):
        raise errors.internal(not_a_version(version))
    if int(version) > serving.store.revision:
        raise not_reached(serving, int(version))


def is_version(text: str) -> bool:
    """Whether this is a number that a revision could be: plain digits, and not more of them than 64 bits hold."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def not_a_version(version: str) -> str:
    return (
        f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
    )


def not_reached(serving: Serving, asked: int) -> errors.ApiError:
    """A revision that lies ahead."""
    return errors.ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {serving.store.revision}",
        details={
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        headers=(("Retry-After", "1"),),
    )
