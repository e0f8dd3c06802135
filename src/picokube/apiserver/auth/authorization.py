"""Authorization, impersonation and access reviews, with the error texts of Kubernetes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol
from urllib.parse import unquote

from picokube.apiserver.auth.access import (
    Access,
    AccessRequest,
    PathRequest,
    ResourceRequest,
    account_groups,
    service_account_of,
)
from picokube.apiserver.auth.authentication import AUTHENTICATED, InvalidToken, TokenOwner
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.errors import ApiError
from picokube.apiserver.protocol.messages import ANONYMOUS, JsonObject, Request, Target, User
from picokube.schema.errors import FieldError, invalid

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
    """Authorizes requests."""

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
    """The rights that impersonation needs, header by header. Repeated headers are joined by line breaks."""
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


Review = Callable[[JsonObject, User], JsonObject]
TokenLookup = Callable[[str, Sequence[str]], TokenOwner | InvalidToken]
"""Finds the owner of a token that is valid for one of these audiences."""


class Verdict(Protocol):
    """Whether something is allowed, and by what."""

    @property
    def allowed(self) -> bool: ...

    @property
    def reason(self) -> str: ...


class AccessReviewer(Protocol):
    """Decides what users may do."""

    def decide(self, user: User, ask: AccessRequest) -> Verdict: ...

    def rules(self, user: User, namespace: str) -> tuple[list[Mapping[str, Any]], str]:
        """Of one user in one namespace; and what kept others from being found."""
        ...


def review(kind: str, lookup: TokenLookup | None = None, judge: AccessReviewer | None = None) -> Review:
    """The function that answers a review of this kind. It raises ApiError for an incomplete review."""
    match kind:
        case "SelfSubjectReview":
            return _self_review
        case "TokenReview":
            return lambda obj, _: _token(_without_creation_time(obj), lookup)
        case "SelfSubjectRulesReview":
            return lambda obj, user: _rules(obj, user, judge)
        case "SelfSubjectAccessReview":
            return lambda obj, user: _access(obj, user, judge)
        case _:
            return lambda obj, _: _access(obj, _subject(obj["spec"]), judge)


def _self_review(obj: JsonObject, user: User) -> JsonObject:
    return obj | {"status": {"userInfo": _info(user)}}


def _access(obj: JsonObject, user: User, judge: AccessReviewer | None) -> JsonObject:
    ask = _ask(obj["spec"])
    if judge is None:
        return _without_creation_time(obj) | {"status": {"allowed": False}}
    found = judge.decide(user, ask)
    reason = {"reason": found.reason} if found.reason else {}
    return _without_creation_time(obj) | {"status": {"allowed": found.allowed} | reason}


def _subject(spec: JsonObject) -> User:
    """The user and the groups that the spec names."""
    _check_attributes(spec)
    if not spec.get("user") and not spec.get("groups"):
        raise _invalid_review(invalid("spec.user", "", "at least one of user or group must be specified"))
    return User(name=spec.get("user") or "", groups=tuple(spec.get("groups") or ()))


def _ask(spec: JsonObject) -> AccessRequest:
    _check_attributes(spec)
    if (path := spec.get("nonResourceAttributes")) is not None:
        return PathRequest(verb=path.get("verb", ""), path=path.get("path", ""))
    requested = spec["resourceAttributes"]
    names = ("verb", "group", "resource", "subresource", "name", "namespace")
    return ResourceRequest(**{name: requested.get(name, "") for name in names})


def _check_attributes(spec: JsonObject) -> None:
    named = [name for name in ("resourceAttributes", "nonResourceAttributes") if spec.get(name) is not None]
    if len(named) != 1:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid_review(invalid("spec.resourceAttributes", spec.get("resourceAttributes"), detail))


def _rules(obj: JsonObject, user: User, judge: AccessReviewer | None) -> JsonObject:
    namespace = obj["spec"].get("namespace")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    rules, problem = judge.rules(user, namespace) if judge else ([], "")
    status: JsonObject = {
        "resourceRules": [
            _listed_rule(rule, "apiGroups", "resources", "resourceNames")
            for rule in rules
            if rule.get("resources")
        ],
        "nonResourceRules": [
            _listed_rule(rule, "nonResourceURLs") for rule in rules if rule.get("nonResourceURLs")
        ],
        "incomplete": False,
    }
    if problem:
        status["evaluationError"] = problem
    return obj | {"metadata": {}, "spec": {}, "status": status}


def _listed_rule(rule: Mapping[str, Any], *names: str) -> JsonObject:
    return {name: rule[name] for name in ("verbs", *names) if rule.get(name)}


def _token(obj: JsonObject, lookup: TokenLookup | None) -> JsonObject:
    token = obj["spec"].get("token", "")
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    match lookup(token, obj["spec"].get("audiences") or ()) if lookup else InvalidToken():
        case TokenOwner(user=owner, audiences=audiences):
            status = {"authenticated": True, "user": _info(owner), "audiences": list(audiences)}
        case InvalidToken(why=why):
            problem = f"[invalid bearer token, {why}]" if why else "invalid bearer token"
            status = {"user": {}, "error": problem}
    return obj | {"status": status}


def _without_creation_time(obj: JsonObject) -> JsonObject:
    """The review without a creation time, which only SelfSubjectReview has."""
    meta = {name: value for name, value in obj["metadata"].items() if name != "creationTimestamp"}
    return obj | {"metadata": meta}


def _invalid_review(problem: FieldError) -> errors.ApiError:
    """The group alone is named: these kinds leave their own name out."""
    cause = {"reason": str(problem.type), "message": problem.body, "field": problem.field}
    message = f'.authorization.k8s.io "" is invalid: {problem.message}'
    return errors.ApiError(
        422, "Invalid", message, details={"group": "authorization.k8s.io", "causes": [cause]}
    )


def _info(user: User) -> JsonObject:
    found: JsonObject = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {name: list(values) for name, values in user.extra.items()}
    return found


KINDS: Final = frozenset(
    {
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "TokenReview",
    }
)
