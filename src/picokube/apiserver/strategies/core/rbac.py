"""Roles and their bindings, as objects. What they allow, others decide."""

from typing import Any, ClassVar, Final

from picokube.apiserver.kinds.names import path_segment_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    dns_subdomain,
    invalid,
    label_selector,
    not_supported,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.printing import created
from picokube.schema import FieldError
from picokube.schema.go_text import Struct

GROUP: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = ("ServiceAccount", "User", "Group")


class Role(Kind):
    """A role in a namespace."""

    namespaced: ClassVar = True

    def problems(self, obj: Json) -> list[FieldError]:
        return [
            problem
            for n, rule in enumerate(obj.get("rules") or ())
            for problem in _rule_problems(f"rules[{n}]", rule, namespaced=self.namespaced)
        ]

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [obj["metadata"].get("creationTimestamp", "")]


class ClusterRole(Role):
    """A role for the whole cluster, or one that is made of others."""

    namespaced: ClassVar = False

    def problems(self, obj: Json) -> list[FieldError]:
        problems = super().problems(obj)
        rule = obj.get("aggregationRule")
        if rule is None:
            return problems
        chosen = rule.get("clusterRoleSelectors") or ()
        if not chosen:
            detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            problems.append(required("aggregationRule.clusterRoleSelectors", detail))
        for n, item in enumerate(chosen):
            problems += label_selector(f"aggregationRule.clusterRoleSelectors[{n}]", item)
        return problems


class RoleBinding(Kind):
    """A role given to somebody, in a namespace."""

    roles: ClassVar[tuple[str, ...]] = ("Role", "ClusterRole")

    def default(self, obj: JsonObject) -> None:
        if not obj["roleRef"].get("apiGroup"):
            obj["roleRef"]["apiGroup"] = GROUP
        for subject in obj.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP

    def problems(self, obj: Json) -> list[FieldError]:
        ref = obj["roleRef"]
        problems: list[FieldError] = []
        if ref.get("apiGroup") != GROUP:
            problems.append(not_supported("roleRef.apiGroup", ref.get("apiGroup", ""), (GROUP,)))
        if ref.get("kind") not in self.roles:
            problems.append(not_supported("roleRef.kind", ref.get("kind", ""), self.roles))
        name = ref.get("name", "")
        if not name:
            problems.append(required("roleRef.name"))
        problems += [invalid("roleRef.name", name, problem) for problem in path_segment_problems(name)]
        for n, subject in enumerate(obj.get("subjects") or ()):
            problems += _subject_problems(f"subjects[{n}]", subject, namespaced=len(self.roles) > 1)
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        problems = self.problems(obj)
        if obj["roleRef"] != old["roleRef"]:
            ref = obj["roleRef"]
            shown = Struct(
                APIGroup=ref.get("apiGroup", ""), Kind=ref.get("kind", ""), Name=ref.get("name", "")
            )
            problems.append(invalid("roleRef", shown, "cannot change roleRef"))
        return problems

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
    """A role given to somebody, everywhere."""

    roles: ClassVar[tuple[str, ...]] = ("ClusterRole",)


def _rule_problems(field: str, rule: Json, *, namespaced: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    if not rule.get("verbs"):
        problems.append(required(f"{field}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or []
    if urls:
        if namespaced:
            detail = "namespaced rules cannot apply to non-resource URLs"
            problems.append(invalid(f"{field}.nonResourceURLs", urls, detail))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            problems.append(invalid(f"{field}.nonResourceURLs", urls, detail))
        return problems
    if not rule.get("apiGroups"):
        problems.append(required(f"{field}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        problems.append(required(f"{field}.resources", "resource rules must supply at least one resource"))
    return problems


def _subject_problems(field: str, subject: Json, *, namespaced: bool) -> list[FieldError]:
    kind, group, name = subject.get("kind", ""), subject.get("apiGroup", ""), subject.get("name", "")
    problems = [] if name else [required(f"{field}.name")]
    match kind:
        case "ServiceAccount":
            if name:
                problems += dns_subdomain(f"{field}.name", name)
            if group:
                problems.append(not_supported(f"{field}.apiGroup", group, ("",)))
            if not namespaced and not subject.get("namespace"):
                problems.append(required(f"{field}.namespace"))
        case "User" | "Group":
            if group != GROUP:
                problems.append(not_supported(f"{field}.apiGroup", group, (GROUP,)))
        case _:
            problems.append(not_supported(f"{field}.kind", kind, _SUBJECTS))
    return problems
