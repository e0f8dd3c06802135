"""From a request to its handler: authentication, authorization, verb, and errors as responses.

The one entry point, for sockets and for calls within the process.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Final

import orjson

from picokube.apiserver.auth.authentication import Authenticator
from picokube.apiserver.auth.authorization import Authorizer
from picokube.apiserver.discovery.discovery import Discovery
from picokube.apiserver.discovery.openapi_v2 import OpenApiV2
from picokube.apiserver.discovery.openapi_v3 import OpenApi
from picokube.apiserver.handlers.objects import (
    create_object,
    delete_collection,
    delete_object,
    get,
    list_objects,
    update_object,
)
from picokube.apiserver.handlers.patch import APPLY_PATCH, patch_object
from picokube.apiserver.handlers.scale import get_scale, patch_scale, update_scale
from picokube.apiserver.handlers.watch import watch
from picokube.apiserver.kinds.names import path_segment_problems
from picokube.apiserver.kinds.resources import KUBELET_SUBRESOURCES, ResourceType
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.printing.representations import (
    check_acceptable,
    in_accepted_form,
    indented,
    wants_indentation,
    warning_headers,
)
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.body import media_type
from picokube.apiserver.protocol.messages import Answer, Request, Response, Target, target_of, text_response

_CHECKS: Final = ("ping", "log", "etcd")
_PATHS: Final = {
    "/healthz": _CHECKS,
    "/livez": _CHECKS,
    "/readyz": (*_CHECKS, "shutdown"),
}


def health(request: Request) -> Response | None:
    """The answer to a question about health; None for another path."""
    checks = _PATHS.get(request.path)
    if checks is not None:
        return text_response(_report(request, checks) if "verbose" in request.query else "ok")
    path, _, check = request.path.rpartition("/")
    return text_response("ok") if check in _PATHS.get(path, ()) else None


def _report(request: Request, checks: tuple[str, ...]) -> str:
    excluded = set(request.query.get("exclude") or ())
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in checks]
    if unknown := sorted(excluded - set(checks)):
        shown = ", ".join(f'"{item}"' for item in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    return "\n".join([*lines, f"{request.path.removeprefix('/')} check passed", ""])


Handler = Callable[[ServerContext, ResourceType, Target, Request], Awaitable[Answer]]
Subresources = dict[tuple[str, str], dict[str, Handler]]
"""Handlers of subresources that are not part of an object, by (resource, subresource) and method."""

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
_SCALE: dict[str, tuple[str, Handler]] = {
    "GET": ("get", get_scale),
    "PUT": ("update", update_scale),
    "PATCH": ("patch", patch_scale),
}
OF_OBJECT = frozenset({"status", "finalize", "scale"})
"""Subresources that show an object, or a part of one."""


class Dispatcher:
    """Answers every request; errors become responses, too."""

    def __init__(
        self,
        context: ServerContext,
        authenticator: Authenticator,
        authorizer: Authorizer,
        subresources: Subresources | None = None,
    ) -> None:
        self._context = context
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._subresources = subresources or {}
        self._discovery = Discovery(context.registry)
        self._openapi = OpenApi(context.registry)
        self._openapi_v2 = OpenApiV2(context.registry)

    async def answer(self, request: Request) -> Answer:
        try:
            answer = await self._answer(request)
        except errors.ApiError as error:
            answer = in_accepted_form(request, refusal(error))
        except TypeError as error:
            if "Recursion limit reached" not in str(error):
                raise
            # What JSON can be read may nest deeper than what can be written.
            answer = in_accepted_form(request, refusal(errors.bad_request("the object nests too deep")))
        return indented(request, answer) if wants_indentation(request) else answer

    async def _answer(self, request: Request) -> Answer:
        request = self._authorizer.impersonated(self._authenticator.authenticated(_as_watch(request)))
        target = target_of(request.path)
        if target is not None:
            return await self._resource(target, request)
        self._authorizer.check_path(request)
        if (reported := health(request)) is not None:
            return reported
        found = self._discovery.answer(request) or self._openapi.answer(request)
        found = found or await self._openapi_v2.answer(request)
        if found is None:
            raise self._unknown(request.path)
        if request.method != "GET" and request.path.rstrip("/") not in ("/api", "/apis"):
            raise errors.method_not_allowed()
        return in_accepted_form(request, found)

    async def _resource(self, target: Target, request: Request) -> Answer:
        resource = self._context.registry.find(target.group, target.version, target.resource)
        self._authorizer.check_resource(request, target)
        if resource is None:
            raise self._unknown(request.path)
        self._check_scope(resource, target, request)
        verb, handler = self._handler(resource, target, request)
        if target.name is not None and (problems := path_segment_problems(target.name)):
            raise errors.bad_request(f'Name parameter invalid: "{target.name}": {problems[0]}')
        if verb not in resource.verbs and not target.subresource:
            is_review = target.name is not None and resource.review is not None
            raise errors.unknown_resource() if is_review else errors.method_not_allowed()
        if not target.subresource or target.subresource in OF_OBJECT:
            check_acceptable(request, resource, verb)
        if self._would_create(resource, target, request):
            self._authorizer.check_resource(request, target, verb="create")
        warned = warning_headers([resource.deprecation] if resource.deprecation else ())
        try:
            answer = await handler(self._context, resource, target, request)
        except errors.ApiError as error:
            error.headers = (*warned, *error.headers)
            raise
        settle = self._context.after_write.get(resource.qualified)
        if settle is not None and request.method not in ("GET", "DELETE"):
            await settle()
        return replace(answer, headers=(*warned, *answer.headers)) if warned else answer

    def _would_create(self, resource: ResourceType, target: Target, request: Request) -> bool:
        """Whether an update or apply creates the object, which needs the right to create."""
        is_apply = request.method == "PATCH" and media_type(request) == APPLY_PATCH
        if not is_apply and (request.method != "PUT" or not resource.create_on_update):
            return False
        if target.name is None or target.subresource:
            return False
        return self._context.store.get(key_of(resource, target.namespace, target.name)) is None

    def _check_scope(self, resource: ResourceType, target: Target, request: Request) -> None:
        """Namespaced kinds are read over all namespaces, and otherwise addressed within one; others never are."""
        within = target.namespace is not None
        is_list = target.name is None and request.method == "GET"
        if within is resource.namespaced or (resource.namespaced and is_list):
            return
        if resource.is_custom:
            raise PlainNotFound
        raise errors.unknown_resource() if target.name or within else errors.method_not_allowed()

    def _handler(self, resource: ResourceType, target: Target, request: Request) -> tuple[str, Handler]:
        if target.subresource:
            return self._subresource(resource, target, request)
        table = _COLLECTION if target.name is None else _OBJECT
        if request.method not in table:
            if request.method == "POST" and target.name is not None and resource.is_custom:
                return "create", create_object
            if request.method in _OBJECT and resource.is_custom:
                raise errors.bad_request("name must be provided")
            raise errors.method_not_allowed()
        verb, handler = table[request.method]
        if verb == "list" and request.flag("watch"):
            return "watch", watch
        return verb, handler

    def _subresource(self, resource: ResourceType, target: Target, request: Request) -> tuple[str, Handler]:
        own = self._subresources.get((resource.qualified, target.subresource))
        if own is not None:
            if request.method not in own:
                raise errors.method_not_allowed()
            return target.subresource, own[request.method]
        if target.subresource not in resource.subresources:
            if resource.is_custom:
                raise errors.not_found(resource.plural, resource.group, target.name or "")
            if target.subresource in KUBELET_SUBRESOURCES and resource.plural in (
                "nodes",
                "pods",
                "services",
            ):
                raise errors.not_implemented(f"{resource.plural}/{target.subresource}")
            raise errors.unknown_resource()
        table = _SCALE if target.subresource == "scale" else _OBJECT
        if target.subresource not in OF_OBJECT or (table is _SCALE and resource.scale is None):
            raise errors.not_implemented(f"{resource.plural}/{target.subresource}")
        if request.method not in table or request.method == "DELETE":
            raise _unsupported(resource, request) if resource.is_custom else errors.method_not_allowed()
        return table[request.method]

    def _unknown(self, path: str) -> errors.ApiError:
        """Within the groups that the server itself has, a Status; elsewhere the plain text of the mux."""
        parts = [part for part in path.split("/") if part]
        group = "" if parts[:1] == ["api"] else parts[1] if len(parts) > 1 and parts[0] == "apis" else None
        registry = self._context.registry
        if (
            group is not None
            and len(parts) > 1
            and registry.has_group(group)
            and not registry.is_custom_group(group)
        ):
            return errors.unknown_resource()
        return PlainNotFound()


def _unsupported(resource: ResourceType, request: Request) -> errors.ApiError:
    verb = {"POST": "create", "DELETE": "delete"}.get(request.method, request.method.lower())
    return errors.ApiError(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{resource.qualified}"',
        details={"group": resource.group, "kind": resource.plural},
    )


def _as_watch(request: Request) -> Request:
    """The old way to watch: `/api/v1/watch/...`."""
    match request.path.split("/"):
        case ["", "api", version, "watch", *rest] if rest:
            path = "/".join(["", "api", version, *rest])
        case ["", "apis", group, version, "watch", *rest] if rest:
            path = "/".join(["", "apis", group, version, *rest])
        case _:
            return request
    return replace(request, path=path, query={**request.query, "watch": ["true"]})


class PlainNotFound(errors.ApiError):
    """A path that is not served: plain text, as the mux of kube-apiserver answers."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.NOT_FOUND, "NotFound", "404 page not found")


def refusal(error: errors.ApiError) -> Response:
    if isinstance(error, PlainNotFound):
        return text_response("404 page not found\n", status=HTTPStatus.NOT_FOUND)
    return Response(status=error.code, body=orjson.dumps(error.status()) + b"\n", headers=error.headers)
