"""From a request to its handler: authentication, what the path means, which verb, and refusals as answers.

The one way in, for sockets and for calls within the process.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

import orjson

from jangar.apiserver import errors
from jangar.apiserver.authentication import Authenticator
from jangar.apiserver.discovery import Discovery
from jangar.apiserver.handlers.create import create_object
from jangar.apiserver.handlers.delete import delete_collection, delete_object
from jangar.apiserver.handlers.get import get
from jangar.apiserver.handlers.list import list_objects
from jangar.apiserver.handlers.patch import patch_object
from jangar.apiserver.handlers.update import update_object
from jangar.apiserver.handlers.watch import watch
from jangar.apiserver.messages import Answer, Request, Response, text_response
from jangar.apiserver.openapi import OpenApi
from jangar.apiserver.resources import ResourceType
from jangar.apiserver.serving import Serving
from jangar.apiserver.target import Target, target_of

Handler = Callable[[Serving, ResourceType, Target, Request], Awaitable[Answer]]
Subresources = dict[tuple[str, str], dict[str, Handler]]
"""(resource as stored, subresource) to its verbs, for what is not an object's own state: logs, reviews."""

HEALTH = frozenset({"/livez", "/readyz", "/healthz"})
_COLLECTION: dict[str, tuple[str, Handler]] = {
    "GET": ("list", list_objects),
    "POST": ("create", create_object),
    "DELETE": ("deletecollection", delete_collection),
}
_OBJECT: dict[str, tuple[str, Handler]] = {
    "GET": ("get", get),
    "PUT": ("update", update_object),
    "PATCH": ("patch", patch_object),
    "DELETE": ("delete", delete_object),
}


class Dispatcher:
    """Answers every request; what goes wrong is answered, too."""

    def __init__(
        self,
        serving: Serving,
        authenticator: Authenticator,
        subresources: Subresources | None = None,
    ) -> None:
        self._serving = serving
        self._authenticator = authenticator
        self._subresources = subresources or {}
        self._discovery = Discovery(serving.registry)
        self._openapi = OpenApi(serving.registry)

    async def answer(self, request: Request) -> Answer:
        try:
            return await self._answer(request)
        except errors.ApiError as error:
            return refusal(error)

    async def _answer(self, request: Request) -> Answer:
        request = self._authenticator.authenticated(request)
        target = target_of(request.path)
        if target is not None:
            return await self._resource(target, request)
        if any(request.path == path or request.path.startswith(f"{path}/") for path in HEALTH):
            return text_response("ok")
        found = self._discovery.answer(request) or self._openapi.answer(request)
        if found is None:
            raise PlainNotFound
        return found

    async def _resource(self, target: Target, request: Request) -> Answer:
        resource = self._serving.registry.find(target.group, target.version, target.resource)
        if resource is None:
            raise self._unknown(target)
        if target.namespace is not None and not resource.namespaced:
            raise errors.unknown_resource()
        verb, handler = self._handler(resource, target, request)
        if verb not in resource.verbs and not target.subresource:
            raise errors.method_not_allowed()
        return await handler(self._serving, resource, target, request)

    def _handler(self, resource: ResourceType, target: Target, request: Request) -> tuple[str, Handler]:
        if target.subresource:
            return self._subresource(resource, target, request)
        table = _COLLECTION if target.name is None else _OBJECT
        if request.method not in table:
            if request.method == "POST" and target.name is not None and resource.is_custom:
                return "create", create_object
            raise errors.method_not_allowed()
        verb, handler = table[request.method]
        if verb in ("list", "get") and request.flag("watch"):
            return "watch", watch
        return verb, handler

    def _subresource(self, resource: ResourceType, target: Target, request: Request) -> tuple[str, Handler]:
        own = self._subresources.get((resource.qualified, target.subresource))
        if own is not None:
            if request.method not in own:
                raise errors.method_not_allowed()
            return target.subresource, own[request.method]
        if target.subresource not in resource.subresources:
            raise errors.unknown_resource()
        if target.subresource not in ("status", "finalize"):
            raise errors.not_implemented(f"{resource.plural}/{target.subresource}")
        if request.method not in _OBJECT or request.method == "DELETE":
            raise errors.method_not_allowed()
        verb, handler = _OBJECT[request.method]
        return verb, handler

    def _unknown(self, target: Target) -> errors.ApiError:
        registry = self._serving.registry
        if registry.has_group(target.group) and not registry.is_custom_group(target.group):
            return errors.unknown_resource()
        return PlainNotFound()


class PlainNotFound(errors.ApiError):
    """A path that nobody serves: plain text, as the mux of kube-apiserver answers."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.NOT_FOUND, "NotFound", "404 page not found")


def refusal(error: errors.ApiError) -> Response:
    if isinstance(error, PlainNotFound):
        return text_response("404 page not found\n", status=HTTPStatus.NOT_FOUND)
    return Response(status=error.code, body=orjson.dumps(error.status()) + b"\n", headers=error.headers)
