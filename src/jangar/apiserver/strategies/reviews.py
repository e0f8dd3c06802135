"""Reviews: questions about who somebody is and what they may do. Answered, never stored.

Whoever is authenticated may do everything here; roles are stored and shown but not enforced, and the answers say so.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from jangar.apiserver import errors
from jangar.apiserver.messages import User
from jangar.schema.errors import FieldError, invalid

JsonObject = dict[str, Any]
Review = Callable[[JsonObject, User], JsonObject]
Lookup = Callable[[str], User | None]
"""Who a token belongs to, or None."""

MASTERS: Final = "system:masters"
_NOT_ENFORCED: Final = "RBAC: not enforced by this server"


def review(kind: str, lookup: Lookup | None = None) -> Review:
    """The function that answers a review of this kind. Raises ApiError for a question that asks nothing."""
    if kind == "TokenReview":
        return lambda obj, user: _token(_untimed(obj), user, lookup)
    return _REVIEWS[kind]


def _myself(obj: JsonObject, user: User) -> JsonObject:
    return obj | {"status": {"userInfo": _info(user)}}


def _my_access(obj: JsonObject, user: User) -> JsonObject:
    _check_attributes(obj["spec"])
    return _untimed(obj) | {"status": _allowed(user.groups)}


def _access(obj: JsonObject, user: User) -> JsonObject:
    """Of the user and groups that the spec names."""
    del user
    spec = obj["spec"]
    _check_attributes(spec)
    if not spec.get("user") and not spec.get("groups"):
        raise _invalid(invalid("spec.user", "", "at least one of user or group must be specified"))
    return _untimed(obj) | {"status": _allowed(spec.get("groups") or ())}


def _check_attributes(spec: JsonObject) -> None:
    named = [name for name in ("resourceAttributes", "nonResourceAttributes") if spec.get(name) is not None]
    if len(named) != 1:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid(invalid("spec.resourceAttributes", spec.get("resourceAttributes"), detail))


def _allowed(groups: Iterable[str]) -> JsonObject:
    return {"allowed": True} | ({} if MASTERS in groups else {"reason": _NOT_ENFORCED})


def _rules(obj: JsonObject, user: User) -> JsonObject:
    del user
    if not obj["spec"].get("namespace"):
        raise errors.bad_request("no namespace on request")
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    status = {"resourceRules": [everything], "nonResourceRules": [paths], "incomplete": False}
    return obj | {"metadata": {}, "spec": {}, "status": status}


def _token(obj: JsonObject, user: User, lookup: Lookup | None) -> JsonObject:
    del user
    token = obj["spec"].get("token", "")
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    found = lookup(token) if lookup else None
    if found is None:
        return obj | {"status": {"user": {}, "error": "invalid bearer token"}}
    return obj | {"status": {"authenticated": True, "user": _info(found)}}


def _untimed(obj: JsonObject) -> JsonObject:
    """Only a review of oneself says when it was made."""
    meta = {name: value for name, value in obj["metadata"].items() if name != "creationTimestamp"}
    return obj | {"metadata": meta}


def _invalid(problem: FieldError) -> errors.ApiError:
    """The group alone is named: these kinds leave their own name out."""
    cause = {"reason": str(problem.type), "message": problem.body, "field": problem.field}
    message = f'.authorization.k8s.io "" is invalid: {problem.message}'
    return errors.ApiError(
        422, "Invalid", message, details={"group": "authorization.k8s.io", "causes": [cause]}
    )


def _info(user: User) -> JsonObject:
    found: JsonObject = {"username": user.name}
    if user.groups:
        found["groups"] = list(user.groups)
    return found


_REVIEWS: Final[dict[str, Review]] = {
    "SelfSubjectReview": _myself,
    "SelfSubjectAccessReview": _my_access,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectRulesReview": _rules,
}
KINDS: Final = frozenset({*_REVIEWS, "TokenReview"})
