"""Validates the spec of a pod or a pod template, in the order of kube-apiserver."""

from collections.abc import Callable, Sequence
from typing import Final

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.kinds.names import label_value_problems, qualified_name_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import (
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    in_range,
    invalid,
    ip_address,
    label_selector,
    labels,
    not_supported,
    one_of,
    required,
)
from picokube.apiserver.strategies.pods.containers import (
    container_problems,
    init_container_problems,
    relative_path_problems,
)
from picokube.schema import FieldError

_VOLUME_SOURCES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "azureDisk", "portworxVolume", "scaleIO", "storageos",
    "projected", "csi", "ephemeral", "image", "photonPersistentDisk",
)  # fmt: skip
_MAX_MODE: Final = 0o777
_MODES: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATHS: Final = (
    "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice",
)  # fmt: skip


def volume_problems(field: str, volumes: Sequence[Json]) -> tuple[set[str], list[FieldError]]:
    """Names of the usable volumes, and what is wrong with the others."""
    names: set[str] = set()
    problems: list[FieldError] = []
    for n, volume in enumerate(volumes):
        place, name = f"{field}[{n}]", volume.get("name", "")
        found = _source_problems(place, volume)
        if not name:
            found.append(required(f"{place}.name"))
        else:
            found += dns_label(f"{place}.name", name)
        if name in names:
            found.append(duplicate(f"{place}.name", name))
        if not found:
            names.add(name)
        problems += found
    return names, problems


def _source_problems(place: str, volume: Json) -> list[FieldError]:
    named = [name for name in _VOLUME_SOURCES if volume.get(name) is not None]
    if not named:
        return [required(place, "must specify a volume type")]
    problems: list[FieldError] = []
    for n, name in enumerate(named):
        if n:
            problems.append(forbidden(f"{place}.{name}", "may not specify more than 1 volume type"))
        elif name in _CHECKS:
            problems += _CHECKS[name](f"{place}.{name}", volume[name])
    return problems


def _empty_dir(field: str, source: Json) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and quantity_value(limit) < 0:
        return [forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(field: str, source: Json) -> list[FieldError]:
    path = source.get("path", "")
    if not path:
        return [required(f"{field}.path")]
    problems = [invalid(f"{field}.path", path, "must not contain '..'")] if ".." in path.split("/") else []
    kind = source.get("type") or ""
    if kind not in _HOST_PATHS:
        problems.append(not_supported(f"{field}.type", kind, _HOST_PATHS))
    return problems


def _secret(field: str, source: Json) -> list[FieldError]:
    problems = [] if source.get("secretName") else [required(f"{field}.secretName")]
    return [*problems, *_mode(field, source), *_items(field, source)]


def _config_map(field: str, source: Json) -> list[FieldError]:
    problems = [] if source.get("name") else [required(f"{field}.name")]
    return [*problems, *_mode(field, source), *_items(field, source)]


def _mode(field: str, source: Json) -> list[FieldError]:
    mode = source.get("defaultMode")
    return (
        [invalid(f"{field}.defaultMode", mode, _MODES)]
        if mode is not None and not 0 <= mode <= _MAX_MODE
        else []
    )


def _items(field: str, source: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    for n, item in enumerate(source.get("items") or ()):
        place = f"{field}.items[{n}]"
        if not item.get("key"):
            problems.append(required(f"{place}.key"))
        if not item.get("path"):
            problems.append(required(f"{place}.path"))
        else:
            problems += relative_path_problems(f"{place}.path", item["path"])
        mode = item.get("mode")
        if mode is not None and not 0 <= mode <= _MAX_MODE:
            problems.append(invalid(f"{place}.mode", mode, _MODES))
    return problems


def _claim(field: str, source: Json) -> list[FieldError]:
    return [] if source.get("claimName") else [required(f"{field}.claimName")]


def _downward(field: str, source: Json) -> list[FieldError]:
    problems = _mode(field, source)
    for n, item in enumerate(source.get("items") or ()):
        place = f"{field}.items[{n}]"
        if not item.get("path"):
            problems.append(required(f"{place}.path"))
        if item.get("fieldRef") is None and item.get("resourceFieldRef") is None:
            problems.append(required(place, "one of fieldRef and resourceFieldRef is required"))
    return problems


def _projected(field: str, source: Json) -> list[FieldError]:
    problems = _mode(field, source)
    for n, item in enumerate(source.get("sources") or ()):
        place = f"{field}.sources[{n}]"
        for name in ("secret", "configMap"):
            inner = item.get(name)
            if inner is not None:
                problems += [] if inner.get("name") else [required(f"{place}.{name}.name")]
                problems += _items(f"{place}.{name}", inner)
        token = item.get("serviceAccountToken")
        if token is not None and not token.get("path"):
            problems.append(required(f"{place}.serviceAccountToken.path"))
    return problems


_CHECKS: Final[dict[str, Callable[[str, Json], list[FieldError]]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "secret": _secret,
    "configMap": _config_map,
    "persistentVolumeClaim": _claim,
    "downwardAPI": _downward,
    "projected": _projected,
}


_MAX_INT32: Final = 2**31 - 1
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
        problems += in_range(f"{field}.activeDeadlineSeconds", deadline, 1, _MAX_INT32)
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
            problems += in_range(f"{field}.{name}", context[name], 0, _MAX_INT32)
    for n, group in enumerate(context.get("supplementalGroups") or ()):
        problems += in_range(f"{field}.supplementalGroups[{n}]", group, 0, _MAX_INT32)
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
