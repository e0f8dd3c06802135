"""What the rules of roles allow, and whom bindings mean. Pure; knows the RBAC kinds as JSON, no storage."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from picokube.apiserver.messages import User

Json = Mapping[str, Any]

ANY = "*"
ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAsk:
    """A verb on a resource; without a namespace, over all of them or outside of any."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAsk:
    """A verb on a path that names no resource."""

    verb: str
    path: str


Ask = ResourceAsk | PathAsk


def rule_allows(rule: Json, ask: Ask) -> bool:
    """Whether one rule of a role allows it."""
    if not _among(rule, "verbs", ask.verb):
        return False
    match ask:
        case PathAsk(path=path):
            return any(_path_matches(item, path) for item in rule.get("nonResourceURLs") or ())
        case ResourceAsk():
            names = rule.get("resourceNames") or ()
            return (
                _among(rule, "apiGroups", ask.group)
                and any(_resource_matches(resource, ask) for resource in rule.get("resources") or ())
                and (not names or ask.name in names)
            )


def _among(rule: Json, field: str, value: str) -> bool:
    stated = rule.get(field) or ()
    return ANY in stated or value in stated


def _resource_matches(stated: str, ask: ResourceAsk) -> bool:
    if not ask.subresource:
        return stated in (ANY, ask.resource)
    return stated in (ANY, f"{ask.resource}/{ask.subresource}", f"*/{ask.subresource}")


def _path_matches(stated: str, path: str) -> bool:
    return stated in (ANY, path) or (stated.endswith("*") and path.startswith(stated.rstrip("*")))


def subject_of(binding: Json, user: User) -> Json | None:
    """The first subject of a binding that means this user."""
    place = binding["metadata"].get("namespace", "")
    return next((subject for subject in binding.get("subjects") or () if _means(subject, user, place)), None)


def _means(subject: Json, user: User, place: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return bool(name == user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            namespace = subject.get("namespace") or place
            return bool(namespace) and user.name == account_user_name(namespace, name)
        case _:
            return False


def account_user_name(namespace: str, name: str) -> str:
    """How a service account is called as a user."""
    return f"{ACCOUNT_PREFIX}{namespace}:{name}"


def account_of(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user is, if it is one."""
    namespace, colon, name = user_name.removeprefix(ACCOUNT_PREFIX).partition(":")
    if not user_name.startswith(ACCOUNT_PREFIX) or not colon or not namespace or not name or ":" in name:
        return None
    return namespace, name


def account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def described(binding: Json, subject: Json) -> str:
    """A binding and whom it meant, as decisions name their ground."""
    meta, role = binding["metadata"], binding["roleRef"]
    place = meta.get("namespace", "")
    kind, name = ("RoleBinding", f"{meta['name']}/{place}") if place else ("ClusterRoleBinding", meta["name"])
    who = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or place}"
    return f'{kind} "{name}" of {role["kind"]} "{role["name"]}" to {subject.get("kind")} "{who}"'
