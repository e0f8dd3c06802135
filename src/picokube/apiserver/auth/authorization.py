"""Authorization and impersonation, with the error texts of Kubernetes."""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote

from picokube.apiserver.auth.access import (
    Access,
    AccessRequest,
    PathRequest,
    ResourceRequest,
    account_groups,
    service_account_of,
)
from picokube.apiserver.auth.authentication import AUTHENTICATED
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import ANONYMOUS, Request, User
from picokube.apiserver.protocol.request_info import Target

UNAUTHENTICATED = "system:unauthenticated"
EXTRA = "impersonate-extra-"
_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}


class Authorizer:
    """Lets a request pass or refuses it."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def check_path(self, request: Request) -> None:
        """Refuses a path that names no resource."""
        self._check(request.user, PathRequest(verb=request.method.lower(), path=request.path))

    def check_resource(self, request: Request, target: Target, *, verb: str | None = None) -> None:
        """Refuses a resource; the verb is the request's own, unless another is named."""
        ask = access_request(request, target)
        self._check(request.user, ask if verb is None else replace(ask, verb=verb))

    def impersonated(self, request: Request) -> Request:
        """As the user that the headers name, if there is one and the sender may be that one."""
        asks = list(_impersonations(request))
        name = request.headers.get("impersonate-user", "")
        if not asks:
            return request
        if not name:
            raise errors.bad_request(f"requested [{_object_references(asks)}] without impersonating a user")
        for ask in asks:
            self._check(request.user, ask)
        return replace(request, user=_named_user(name, asks))

    def _check(self, user: User, ask: AccessRequest) -> None:
        decision = self._access.decide(user, ask)
        if not decision.allowed:
            raise _forbidden(user, ask, decision.reason)


def access_request(request: Request, target: Target) -> ResourceRequest:
    """What a request wants, as access control names it."""
    verb, name = _VERBS.get(request.method, request.method.lower()), target.name or ""
    if not name:
        verb = _COLLECTION_VERBS.get(verb, verb)
    if verb == "list":
        verb, name = "watch" if request.flag("watch") else verb, _selected_name(request)
    is_namespace = (target.group, target.resource) == ("", "namespaces")
    return ResourceRequest(
        verb=verb,
        group=target.group,
        resource=target.resource,
        subresource=target.subresource,
        name=name,
        namespace=(target.name if is_namespace else target.namespace) or "",
    )


def _selected_name(request: Request) -> str:
    """A field selector may mean one object by its name."""
    for term in (request.parameter("fieldSelector") or "").split(","):
        field, _, value = term.partition("=")
        if field == "metadata.name":
            return value.removeprefix("=")
    return ""


def _impersonations(request: Request) -> Iterator[ResourceRequest]:
    """What a sender must be allowed, one header after another. Values of one name stand in lines."""
    headers = request.headers
    if name := headers.get("impersonate-user", ""):
        account = service_account_of(name)
        if account is None:
            yield _impersonate("users", name)
        else:
            yield _impersonate("serviceaccounts", account[1], namespace=account[0])
    for group in _values(headers.get("impersonate-group")):
        yield _impersonate("groups", group)
    for header in headers:
        if header.startswith(EXTRA):
            key = unquote(header.removeprefix(EXTRA))
            for value in _values(headers[header]):
                yield _impersonate("userextras", value, group="authentication.k8s.io", subresource=key)
    if uid := headers.get("impersonate-uid", ""):
        yield _impersonate("uids", uid, group="authentication.k8s.io")


def _impersonate(resource: str, name: str, **where: str) -> ResourceRequest:
    return ResourceRequest(verb="impersonate", resource=resource, name=name, **where)


def _values(header: str | None) -> list[str]:
    return header.split("\n") if header is not None else []


def _named_user(name: str, asks: list[ResourceRequest]) -> User:
    groups = [ask.name for ask in asks if ask.resource == "groups"]
    account = service_account_of(name)
    if account is not None and not groups:
        groups = list(account_groups(account[0]))
    own = UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED
    if own not in groups and UNAUTHENTICATED not in groups:
        groups.append(own)
    extra: dict[str, tuple[str, ...]] = {}
    for ask in asks:
        if ask.resource == "userextras":
            extra[ask.subresource] = (*extra.get(ask.subresource, ()), ask.name)
    uid = next((ask.name for ask in asks if ask.resource == "uids"), "")
    return User(name=name, groups=tuple(groups), uid=uid, extra=extra)


def _object_references(asks: list[ResourceRequest]) -> str:
    """As Go prints references to objects."""
    kinds = {"groups": "Group", "userextras": "UserExtra", "uids": "UID"}
    return " ".join(
        f"{{{kinds.get(ask.resource, '')}  {ask.name}  {ask.group and ask.group + '/v1'}  {ask.subresource}}}"
        for ask in asks
    )


def _forbidden(user: User, ask: AccessRequest, reason: str) -> ApiError:
    because = f": {reason}" if reason else ""
    match ask:
        case PathRequest(verb=verb, path=path):
            message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"{because}'
            return ApiError(403, "Forbidden", message, details={})
        case ResourceRequest(group=group, resource=resource, name=name):
            plural = f"{resource}/{ask.subresource}" if ask.subresource else resource
            place = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
            why = f'User "{user.name}" cannot {ask.verb} resource "{plural}" in API group "{group}" {place}{because}'
            qualified = errors.qualified(resource, group)
            named = f'{qualified} "{name}"' if name else qualified
            details = {"name": name, "group": group, "kind": resource}
            return ApiError(
                403,
                "Forbidden",
                f"{named} is forbidden: {why}",
                details={field: value for field, value in details.items() if value},
            )
