"""RBAC: what rules allow, who is bound to them, and whether a writer of roles grants more than they have."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from picokube.apiserver.objects.context import CommittedWrite
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.go_text import quoted_list
from picokube.apiserver.protocol.messages import Json, User
from picokube.apiserver.storage.store import Store

ANY = "*"
ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    """A verb on a resource; without a namespace, over all of them or outside of any."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRequest:
    """A verb on a path that names no resource."""

    verb: str
    path: str


AccessRequest = ResourceRequest | PathRequest


def rule_allows(rule: Json, ask: AccessRequest) -> bool:
    """Whether one rule of a role allows it."""
    if not _lists(rule, "verbs", ask.verb):
        return False
    match ask:
        case PathRequest(path=path):
            return any(_path_matches(item, path) for item in rule.get("nonResourceURLs") or ())
        case ResourceRequest():
            names = rule.get("resourceNames") or ()
            return (
                _lists(rule, "apiGroups", ask.group)
                and any(_resource_matches(resource, ask) for resource in rule.get("resources") or ())
                and (not names or ask.name in names)
            )


def _lists(rule: Json, field: str, value: str) -> bool:
    stated = rule.get(field) or ()
    return ANY in stated or value in stated


def _resource_matches(stated: str, ask: ResourceRequest) -> bool:
    if not ask.subresource:
        return stated in (ANY, ask.resource)
    return stated in (ANY, f"{ask.resource}/{ask.subresource}", f"*/{ask.subresource}")


def _path_matches(stated: str, path: str) -> bool:
    return stated in (ANY, path) or (stated.endswith("*") and path.startswith(stated.rstrip("*")))


def matching_subject(binding: Json, user: User) -> Json | None:
    """The first subject of a binding that means this user."""
    place = binding["metadata"].get("namespace", "")
    return next(
        (subject for subject in binding.get("subjects") or () if _is_subject(subject, user, place)), None
    )


def _is_subject(subject: Json, user: User, place: str) -> bool:
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


def service_account_of(user_name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user is, if it is one."""
    namespace, colon, name = user_name.removeprefix(ACCOUNT_PREFIX).partition(":")
    if not user_name.startswith(ACCOUNT_PREFIX) or not colon or not namespace or not name or ":" in name:
        return None
    return namespace, name


def account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def describe_binding(binding: Json, subject: Json) -> str:
    """A binding and its subject, as the reasons of decisions name them."""
    meta, role = binding["metadata"], binding["roleRef"]
    place = meta.get("namespace", "")
    kind, name = ("RoleBinding", f"{meta['name']}/{place}") if place else ("ClusterRoleBinding", meta["name"])
    who = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or place}"
    return f'{kind} "{name}" of {role["kind"]} "{role["name"]}" to {subject.get("kind")} "{who}"'


MASTERS: Final = "system:masters"
"""The group that may do everything, whatever the roles say."""
GROUP: Final = "rbac.authorization.k8s.io"
EVERYTHING: Final = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Yes or no. A reason is there if a role is the ground of a yes, or is missing for one."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundRules:
    ground: str
    rules: tuple[Json, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _MissingRole:
    """A binding whose role does not exist."""

    role: str


class Access:
    """Decides by the stored roles. They are read on first use, and again after one is written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, dict[tuple[str, str], Json]] = {}

    def on_write(self, write: CommittedWrite) -> None:
        """Drop cached roles after a write to them."""
        if write.resource.group == GROUP:
            self._read.clear()

    def decide(self, user: User, ask: AccessRequest) -> Decision:
        if MASTERS in user.groups:
            return Decision(allowed=True)
        missing: list[str] = []
        for grant in self._grants(user, ask.namespace if isinstance(ask, ResourceRequest) else ""):
            match grant:
                case _MissingRole(role=role):
                    missing.append(role)
                case _BoundRules(ground=ground, rules=rules):
                    if any(rule_allows(rule, ask) for rule in rules):
                        return Decision(allowed=True, reason=f"RBAC: allowed by {ground}")
        return Decision(allowed=False, reason=_missing_roles_reason(missing))

    def rules(self, user: User, namespace: str) -> tuple[list[Json], str]:
        """Everything a user may do in a namespace, and which roles are missing."""
        found: list[Json] = [*EVERYTHING] if MASTERS in user.groups else []
        missing: list[str] = []
        for grant in self._grants(user, namespace):
            match grant:
                case _MissingRole(role=role):
                    missing.append(role)
                case _BoundRules(rules=rules):
                    found.extend(rules)
        return found, _missing_roles_reason(missing).removeprefix("RBAC: ")

    def rules_of(self, kind: str, namespace: str, name: str) -> tuple[Json, ...] | None:
        """What a role allows; None if it is not there."""
        place = "" if kind == "ClusterRole" else namespace
        role = self._all(f"{kind.lower()}s").get((place, name))
        return None if role is None else tuple(role.get("rules") or ())

    def _grants(self, user: User, namespace: str) -> Iterator[_BoundRules | _MissingRole]:
        bindings = list(self._all("clusterrolebindings").values())
        if namespace:
            bindings += [item for (place, _), item in self._all("rolebindings").items() if place == namespace]
        for binding in bindings:
            subject = matching_subject(binding, user)
            if subject is not None:
                yield self._grant(binding, subject)

    def _grant(self, binding: Json, subject: Json) -> _BoundRules | _MissingRole:
        kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        rules = self.rules_of(kind, binding["metadata"].get("namespace", ""), name)
        if rules is None:
            return _MissingRole(role=f'{kind.lower()}.{GROUP} "{name}" not found')
        return _BoundRules(ground=describe_binding(binding, subject), rules=rules)

    def _all(self, plural: str) -> dict[tuple[str, str], Json]:
        if plural not in self._read:
            stored = self._store.list(f"{plural}.{GROUP}").objects
            self._read[plural] = {
                (item.key.namespace, item.key.name): orjson.loads(item.data) for item in stored
            }
        return self._read[plural]


def _missing_roles_reason(missing: list[str]) -> str:
    reported = list(dict.fromkeys(missing))
    if not reported:
        return ""
    return f"RBAC: {reported[0] if len(reported) == 1 else '[' + ', '.join(reported) + ']'}"


Guard = Callable[[Json, Json | None, User], None]
"""Raises if a user may not write an object over its old state."""

_GARBAGE_COLLECTION_FIELDS: Final = (
    "finalizers",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
)


def guard_of(kind: str, access: Access) -> Guard | None:
    """The check of writers of this kind, if it depends on the content of the object."""
    match kind:
        case "Role" | "ClusterRole":
            return lambda role, old, user: _check_role(access, role, old, user)
        case "RoleBinding" | "ClusterRoleBinding":
            return lambda binding, old, user: _check_binding(access, binding, old, user)
        case _:
            return None


def _check_role(access: Access, role: Json, old: Json | None, user: User) -> None:
    meta, plural = role["metadata"], f"{role['kind'].lower()}s"
    name, namespace = meta.get("name", ""), meta.get("namespace", "")
    ask = ResourceRequest(verb="escalate", group=GROUP, resource=plural, name=name, namespace=namespace)
    if MASTERS in user.groups or access.decide(user, ask).allowed or _is_same(role, old):
        return
    own, _ = access.rules(user, namespace)
    if role.get("aggregationRule") and any(_missing(own, EVERYTHING)):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise errors.forbidden(plural, GROUP, name, why)
    _check_rules(plural, name, user, _missing(own, role.get("rules") or ()))


def _check_binding(access: Access, binding: Json, old: Json | None, user: User) -> None:
    meta, reference = binding["metadata"], binding.get("roleRef") or {}
    plural, namespace = f"{binding['kind'].lower()}s", meta.get("namespace", "")
    ask = ResourceRequest(
        verb="bind",
        group=reference.get("apiGroup", ""),
        resource=f"{reference.get('kind', '').lower()}s",
        name=reference.get("name", ""),
        namespace=namespace,
    )
    if MASTERS in user.groups or access.decide(user, ask).allowed or _is_same(binding, old):
        return
    given = access.rules_of(reference.get("kind", ""), namespace, ask.name)
    if given is None:
        raise errors.not_found(plural, GROUP, ask.name)
    own, _ = access.rules(user, namespace)
    _check_rules(plural, meta.get("name", ""), user, _missing(own, given))


def _check_rules(plural: str, name: str, user: User, missing: Iterator[Json]) -> None:
    found = sorted({_rule_text(item) for item in _compact(missing)})
    if found:
        why = (
            f'user "{user.name}" (groups={quoted_list(user.groups)}) is attempting to grant RBAC permissions '
            "not currently held:\n" + "\n".join(found)
        )
        raise errors.forbidden(plural, GROUP, name, why)


def _is_same(obj: Json, old: Json | None) -> bool:
    """Whether nothing changes but what the garbage collector needs."""
    return old is not None and _essence(obj) == _essence(old)


def _essence(obj: Json) -> Json:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _GARBAGE_COLLECTION_FIELDS}
    return {name: value for name, value in obj.items() if value} | {"metadata": meta}


def _missing(own: Iterable[Json], wanted: Iterable[Json]) -> Iterator[Json]:
    """Single rights that no rule of one's own covers."""
    held = list(own)
    for rule in wanted:
        for right in _single_rights(rule):
            request = _request_for(right)
            if not any(rule_allows(item, request) for item in held):
                yield right


def _single_rights(rule: Json) -> Iterator[Json]:
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                one = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                yield from ({**one, "resourceNames": [name]} for name in names) if names else (one,)
    for path in rule.get("nonResourceURLs") or ():
        yield from ({"nonResourceURLs": [path], "verbs": [verb]} for verb in rule.get("verbs") or ())


def _request_for(right: Json) -> AccessRequest:
    """The request that a single right allows."""
    verb = right["verbs"][0]
    if "nonResourceURLs" in right:
        return PathRequest(verb=verb, path=right["nonResourceURLs"][0])
    resource, _, subresource = right["resources"][0].partition("/")
    name = next(iter(right.get("resourceNames") or ()), "")
    return ResourceRequest(
        verb=verb, group=right["apiGroups"][0], resource=resource, subresource=subresource, name=name
    )


def _compact(parts: Iterable[Json]) -> Iterator[Json]:
    """Parts that differ in their verb alone as one."""
    verbs: dict[tuple[str, ...], tuple[Json, list[str]]] = {}
    for part in parts:
        if "nonResourceURLs" in part:
            yield part
            continue
        names = part.get("resourceNames") or ()
        key = (part["apiGroups"][0], part["resources"][0], *names)
        verbs.setdefault(key, (part, []))[1].extend(part["verbs"])
    yield from ({**part, "verbs": every} for part, every in verbs.values())


def _rule_text(rule: Json) -> str:
    names = {
        "apiGroups": "APIGroups",
        "resources": "Resources",
        "nonResourceURLs": "NonResourceURLs",
        "resourceNames": "ResourceNames",
        "verbs": "Verbs",
    }
    return (
        "{"
        + ", ".join(f"{title}:{quoted_list(rule[name])}" for name, title in names.items() if name in rule)
        + "}"
    )
