"""Roles and bindings as objects. What they allow is decided in `auth.access`."""

from typing import Any, ClassVar, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    Problems,
    Rule,
    Rules,
    dns_subdomain,
    each,
    given,
    invalid,
    label_selector,
    members,
    need,
    path_segment,
    required,
    supported,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema.go_text import Struct

GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


def _rule(*, namespaced: bool) -> Rule:
    def check_rule(field: str, rule: Json) -> Problems:
        if not rule.get("verbs"):
            yield required(f"{field}.verbs", "verbs must contain at least one value")
        urls = rule.get("nonResourceURLs") or []
        if urls and namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            yield invalid(f"{field}.nonResourceURLs", urls, detail)
        if urls and (rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{field}.nonResourceURLs", urls, detail)
        if not urls and not rule.get("apiGroups"):
            yield required(f"{field}.apiGroups", "resource rules must supply at least one api group")
        if not urls and not rule.get("resources"):
            yield required(f"{field}.resources", "resource rules must supply at least one resource")

    return check_rule


def _subject(*, namespaced: bool) -> Rule:
    def check_subject(field: str, subject: Json) -> Problems:
        name, group = subject.get("name", ""), subject.get("apiGroup", "")
        if not name:
            yield required(f"{field}.name")
        match subject.get("kind", ""):
            case "ServiceAccount":
                if name:
                    yield from dns_subdomain(f"{field}.name", name)
                yield from supported("")(f"{field}.apiGroup", group)
                if not namespaced and not subject.get("namespace"):
                    yield required(f"{field}.namespace")
            case "User" | "Group":
                yield from supported(GROUP)(f"{field}.apiGroup", group)
            case kind:
                yield from supported(*_SUBJECTS)(f"{field}.kind", kind)

    return check_subject


class Role(Kind):
    """A role in a namespace."""

    rules: ClassVar[Rules] = (("rules", each(_rule(namespaced=True))),)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj["metadata"].get("creationTimestamp", "")]


_SELECTORS: Final = "at least one clusterRoleSelector required if aggregationRule is non-nil"


class ClusterRole(Role):
    """A role for the whole cluster, possibly aggregated from others."""

    rules: ClassVar[Rules] = (
        ("rules", each(_rule(namespaced=False))),
        ("aggregationRule", given(members(("clusterRoleSelectors", need(each(label_selector), _SELECTORS))))),
    )


def _binding(*roles: str) -> Rules:
    role = members(
        ("apiGroup", supported(GROUP)),
        ("kind", supported(*roles)),
        ("name", need(path_segment)),
    )
    return ("roleRef", role), ("subjects", each(_subject(namespaced=len(roles) > 1)))


class RoleBinding(Kind):
    """A role granted in a namespace."""

    rules: ClassVar[Rules] = _binding("Role", "ClusterRole")

    def default(self, obj: JsonObject) -> None:
        if not obj["roleRef"].get("apiGroup"):
            obj["roleRef"]["apiGroup"] = GROUP
        for subject in obj.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP

    def update_problems(self, obj: Json, old: Json) -> Problems:
        yield from self.problems(obj)
        if (ref := obj["roleRef"]) != old["roleRef"]:
            names = {"APIGroup": "apiGroup", "Kind": "kind", "Name": "name"}
            shown = Struct({go_name: ref.get(name, "") for go_name, name in names.items()})
            yield invalid("roleRef", shown, "cannot change roleRef")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        ref, subjects = obj.get("roleRef") or {}, obj.get("subjects") or ()
        named = {kind: [subject for subject in subjects if subject.get("kind") == kind] for kind in _SUBJECTS}
        accounts = [f"{item.get('namespace', '')}/{item.get('name', '')}" for item in named["ServiceAccount"]]
        return [
            f"{ref.get('kind', '')}/{ref.get('name', '')}",
            created(obj),
            ", ".join(item.get("name", "") for item in named["User"]),
            ", ".join(item.get("name", "") for item in named["Group"]),
            ", ".join(accounts),
        ]


class ClusterRoleBinding(RoleBinding):
    """A role granted in the whole cluster."""

    rules: ClassVar[Rules] = _binding("ClusterRole")
