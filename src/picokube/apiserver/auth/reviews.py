"""Reviews: questions about who somebody is and what they may do. Answered, never stored."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from picokube.apiserver.auth.access import AccessRequest, PathRequest, ResourceRequest
from picokube.apiserver.auth.authentication import InvalidToken, TokenOwner
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import JsonObject, User
from picokube.schema.errors import FieldError, invalid

Review = Callable[[JsonObject, User], JsonObject]
TokenLookup = Callable[[str, Sequence[str]], TokenOwner | InvalidToken]
"""Whose a token is, among those that are meant for one of these audiences."""


class Verdict(Protocol):
    """Whether something is allowed, and by what."""

    @property
    def allowed(self) -> bool: ...

    @property
    def reason(self) -> str: ...


class AccessReviewer(Protocol):
    """Knows who may do what."""

    def decide(self, user: User, ask: AccessRequest) -> Verdict: ...

    def rules(self, user: User, namespace: str) -> tuple[list[Mapping[str, Any]], str]:
        """Of one user in one namespace; and what kept others from being found."""
        ...


def review(kind: str, lookup: TokenLookup | None = None, judge: AccessReviewer | None = None) -> Review:
    """The function that answers a review of this kind. Raises ApiError for a question that asks nothing."""
    match kind:
        case "SelfSubjectReview":
            return _self_review
        case "TokenReview":
            return lambda obj, user: _token(_without_creation_time(obj), user, lookup)
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
    asked = spec["resourceAttributes"]
    names = ("verb", "group", "resource", "subresource", "name", "namespace")
    return ResourceRequest(**{name: asked.get(name, "") for name in names})


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


def _token(obj: JsonObject, user: User, lookup: TokenLookup | None) -> JsonObject:
    del user
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
    """Only a review of oneself says when it was made."""
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
