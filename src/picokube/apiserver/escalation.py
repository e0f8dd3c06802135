"""Nobody gives away more than they have: which rights a role or a binding would add to its writer's own."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from picokube.apiserver import errors
from picokube.apiserver.access import EVERYTHING, GROUP, MASTERS, Access
from picokube.apiserver.access_rules import Json, ResourceAsk
from picokube.apiserver.messages import User

Guard = Callable[[Json, Json | None, User], None]
"""Raises for an object, and what it was before, that this user may not write."""

_OF_GARBAGE_COLLECTION: Final = (
    "finalizers",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
)


def guard_of(kind: str, access: Access) -> Guard | None:
    """Who may write an object of this kind, if that depends on what it says."""
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
    ask = ResourceAsk(verb="escalate", group=GROUP, resource=plural, name=name, namespace=namespace)
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
    ask = ResourceAsk(
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
    found = sorted({_shown(item) for item in _compact(missing)})
    if found:
        why = (
            f'user "{user.name}" (groups={_quoted(user.groups)}) is attempting to grant RBAC permissions not currently '
            "held:\n" + "\n".join(found)
        )
        raise errors.forbidden(plural, GROUP, name, why)


def _is_same(obj: Json, old: Json | None) -> bool:
    """Whether nothing changes but what the garbage collector needs."""
    return old is not None and _essence(obj) == _essence(old)


def _essence(obj: Json) -> Json:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _OF_GARBAGE_COLLECTION}
    return {name: value for name, value in obj.items() if value} | {"metadata": meta}


def _missing(own: Iterable[Json], wanted: Iterable[Json]) -> Iterator[Json]:
    """Single rights that no rule of one's own covers."""
    held = list(own)
    for rule in wanted:
        yield from (part for part in _parts(rule) if not any(_covers(item, part) for item in held))


def _parts(rule: Json) -> Iterator[Json]:
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                one = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames") or ()
                yield from ({**one, "resourceNames": [name]} for name in names) if names else (one,)
    for path in rule.get("nonResourceURLs") or ():
        yield from ({"nonResourceURLs": [path], "verbs": [verb]} for verb in rule.get("verbs") or ())


def _covers(rule: Json, part: Json) -> bool:
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and part["verbs"][0] not in verbs:
        return False
    if "nonResourceURLs" in part:
        path = part["nonResourceURLs"][0]
        return any(_path_covers(item, path) for item in rule.get("nonResourceURLs") or ())
    groups, names = rule.get("apiGroups") or (), rule.get("resourceNames") or ()
    asked = part.get("resourceNames")
    return (
        ("*" in groups or part["apiGroups"][0] in groups)
        and _resource_covered(rule.get("resources") or (), part["resources"][0])
        and (not names or (asked is not None and asked[0] in names))
    )


def _resource_covered(held: Iterable[str], resource: str) -> bool:
    _, slash, subresource = resource.partition("/")
    return any(item in ("*", resource) or (slash and item == f"*/{subresource}") for item in held)


def _path_covers(held: str, path: str) -> bool:
    return held == path or (held.endswith("*") and path.startswith(held.rstrip("*")))


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


def _shown(rule: Json) -> str:
    names = {
        "apiGroups": "APIGroups",
        "resources": "Resources",
        "nonResourceURLs": "NonResourceURLs",
        "resourceNames": "ResourceNames",
        "verbs": "Verbs",
    }
    return (
        "{"
        + ", ".join(f"{title}:{_quoted(rule[name])}" for name, title in names.items() if name in rule)
        + "}"
    )


def _quoted(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"
