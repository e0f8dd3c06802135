"""Reviews: questions about who somebody is and what they may do. Answered, never stored.

Whoever is authenticated may do everything here; roles are stored and shown but not enforced, and the answers say so.
"""

from collections.abc import Callable
from typing import Any, Final

from jangar.apiserver.messages import User

JsonObject = dict[str, Any]
Review = Callable[[JsonObject, User], JsonObject]
Lookup = Callable[[str], User | None]
"""Who a token belongs to, or None."""

MASTERS: Final = "system:masters"
_NOT_ENFORCED: Final = "RBAC: not enforced by this server"


def review(kind: str, lookup: Lookup | None = None) -> Review:
    """The function that answers a review of this kind."""
    if kind == "TokenReview":
        return lambda obj, user: _token(obj, user, lookup)
    return _REVIEWS[kind]


def _myself(obj: JsonObject, user: User) -> JsonObject:
    return obj | {"status": {"userInfo": _info(user)}}


def _access(obj: JsonObject, user: User) -> JsonObject:
    """Of the caller, or of the user and groups that the spec names."""
    spec = obj.get("spec") or {}
    groups = spec.get("groups") if obj.get("kind") != "SelfSubjectAccessReview" else user.groups
    status: JsonObject = {"allowed": True}
    if MASTERS not in (groups or ()):
        status["reason"] = _NOT_ENFORCED
    return obj | {"spec": spec, "status": status}


def _rules(obj: JsonObject, user: User) -> JsonObject:
    del user
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    status = {"resourceRules": [everything], "nonResourceRules": [paths], "incomplete": False}
    return obj | {"spec": {}, "status": status}


def _token(obj: JsonObject, user: User, lookup: Lookup | None) -> JsonObject:
    del user
    token = (obj.get("spec") or {}).get("token", "")
    found = lookup(token) if lookup and token else None
    if found is None:
        return obj | {"status": {"user": {}, "error": "invalid bearer token"}}
    return obj | {"status": {"authenticated": True, "user": _info(found), "audiences": []}}


def _info(user: User) -> JsonObject:
    found: JsonObject = {"username": user.name}
    if user.groups:
        found["groups"] = list(user.groups)
    return found


_REVIEWS: Final[dict[str, Review]] = {
    "SelfSubjectReview": _myself,
    "SelfSubjectAccessReview": _access,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectRulesReview": _rules,
}
KINDS: Final = frozenset({*_REVIEWS, "TokenReview"})
