"""What is wrong with the spec of a pod or a pod template, in the order in which kube-apiserver looks."""

from collections.abc import Sequence
from typing import Final

from picokube.apiserver.names import label_value_problems, qualified_name_problems
from picokube.apiserver.strategies.checks import (
    Json,
    dns_label,
    dns_subdomain,
    in_range,
    invalid,
    ip_address,
    label_selector,
    labels,
    not_supported,
    one_of,
    required,
)
from picokube.apiserver.strategies.pod_containers import container_problems, init_container_problems
from picokube.apiserver.strategies.pod_volumes import volume_problems
from picokube.schema import FieldError

_MOST: Final = 2**31 - 1
_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NODE_AFFINITY: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def pod_spec_problems(field: str, spec: Json) -> list[FieldError]:
    volumes, problems = volume_problems(f"{field}.volumes", spec.get("volumes") or ())
    regular = spec.get("containers") or ()
    problems += container_problems(f"{field}.containers", regular, volumes)
    problems += init_container_problems(
        f"{field}.initContainers", spec.get("initContainers") or (), regular, volumes
    )
    problems += one_of(f"{field}.restartPolicy", spec.get("restartPolicy"), _POLICIES)
    problems += one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    problems += labels(f"{field}.nodeSelector", spec.get("nodeSelector"))
    problems += _security_problems(f"{field}.securityContext", spec.get("securityContext") or {})
    problems += _affinity_problems(f"{field}.affinity", spec.get("affinity") or {})
    problems += _spread_problems(
        f"{field}.topologySpreadConstraints", spec.get("topologySpreadConstraints") or ()
    )
    for name in ("serviceAccountName", "nodeName"):
        if spec.get(name):
            problems += dns_subdomain(f"{field}.{name}", spec[name])
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        problems += in_range(f"{field}.activeDeadlineSeconds", deadline, 1, _MOST)
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            problems += dns_label(f"{field}.{name}", spec[name])
    problems += toleration_problems(f"{field}.tolerations", spec.get("tolerations") or ())
    problems += _alias_problems(f"{field}.hostAliases", spec.get("hostAliases") or ())
    for name in ("priorityClassName", "runtimeClassName"):
        if spec.get(name):
            problems += dns_subdomain(f"{field}.{name}", spec[name])
    if spec.get("preemptionPolicy") is not None:
        allowed = ("Never", "PreemptLowerPriority")
        problems += one_of(f"{field}.preemptionPolicy", spec["preemptionPolicy"], allowed)
    return problems


def image_problems(field: str, spec: Json) -> list[FieldError]:
    """Pods alone refuse blanks around an image; templates may hold them as marks."""
    detail = "must not have leading or trailing whitespace"
    return [
        invalid(f"{field}.{name}[{n}].image", image, detail)
        for name in ("containers", "initContainers")
        for n, container in enumerate(spec.get(name) or ())
        if (image := container.get("image", "")) != image.strip()
    ]


def template_problems(field: str, template: Json) -> list[FieldError]:
    meta = template.get("metadata") or {}
    problems = labels(f"{field}.labels", meta.get("labels"))
    problems += [
        invalid(f"{field}.annotations", key, problem)
        for key in sorted(meta.get("annotations") or {})
        for problem in qualified_name_problems(key.lower())
    ]
    return [*problems, *pod_spec_problems(f"{field}.spec", template.get("spec") or {})]


def _security_problems(field: str, context: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        if context.get(name) is not None:
            problems += in_range(f"{field}.{name}", context[name], 0, _MOST)
    for n, group in enumerate(context.get("supplementalGroups") or ()):
        problems += in_range(f"{field}.supplementalGroups[{n}]", group, 0, _MOST)
    return problems


def toleration_problems(field: str, tolerations: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, item in enumerate(tolerations):
        place, key, operator = f"{field}[{n}]", item.get("key", ""), item.get("operator", "")
        value, effect = item.get("value", ""), item.get("effect", "")
        if key:
            problems += [invalid(f"{place}.key", key, problem) for problem in qualified_name_problems(key)]
        elif operator != "Exists":
            detail = (
                'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            )
            problems.append(invalid(f"{place}.operator", operator, detail))
        if item.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            problems.append(invalid(f"{place}.effect", effect, detail))
        if operator in ("Equal", ""):
            if found := label_value_problems(value):
                problems.append(invalid(f"{place}.operator", value, ";".join(found)))
        elif operator == "Exists":
            if value:
                detail = "value must be empty when `operator` is 'Exists'"
                problems.append(invalid(f"{place}.operator", value, detail))
        else:
            problems.append(not_supported(f"{place}.operator", operator, ("Equal", "Exists")))
        if effect and effect not in _EFFECTS:
            problems.append(not_supported(f"{place}.effect", effect, _EFFECTS))
    return problems


def _alias_problems(field: str, aliases: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, alias in enumerate(aliases):
        problems += ip_address(f"{field}[{n}].ip", alias.get("ip", ""))
        for m, name in enumerate(alias.get("hostnames") or ()):
            problems += dns_subdomain(f"{field}[{n}].hostnames[{m}]", name)
    return problems


def _affinity_problems(field: str, affinity: Json) -> list[FieldError]:
    required_nodes = (affinity.get("nodeAffinity") or {}).get(_NODE_AFFINITY)
    if required_nodes is None:
        return []
    place = f"{field}.nodeAffinity.{_NODE_AFFINITY}.nodeSelectorTerms"
    terms = required_nodes.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(place, "must have at least one node selector term")]
    return [
        problem
        for n, term in enumerate(terms)
        for problem in label_selector(f"{place}[{n}]", {"matchExpressions": term.get("matchExpressions")})
    ]


def _spread_problems(field: str, constraints: Sequence[Json]) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, item in enumerate(constraints):
        place = f"{field}[{n}]"
        if item.get("maxSkew", 0) <= 0:
            problems.append(invalid(f"{place}.maxSkew", item.get("maxSkew", 0), "must be greater than zero"))
        if not item.get("topologyKey"):
            problems.append(required(f"{place}.topologyKey", "can not be empty"))
        problems += one_of(
            f"{place}.whenUnsatisfiable", item.get("whenUnsatisfiable"), ("DoNotSchedule", "ScheduleAnyway")
        )
    return problems
