"""Validates the spec of a pod or a pod template, in the order of kube-apiserver."""

from collections.abc import Sequence
from typing import Final

from picokube.apiserver.gotypes.scalar_types import quantity_value
from picokube.apiserver.kinds.names import label_value_problems, qualified_name_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import (
    MAX_INT32,
    TAINT_EFFECTS,
    Problems,
    check,
    dns_label,
    dns_subdomain,
    duplicate,
    each,
    forbidden,
    given,
    invalid,
    ip_address,
    label_selector,
    labels,
    members,
    need,
    nonempty,
    not_supported,
    one_of,
    qualified_name,
    required,
    supported,
    within,
)
from picokube.apiserver.strategies.pods.containers import (
    container_problems,
    init_container_problems,
    relative_path,
)
from picokube.schema import FieldError

# -- volumes: sources that users bring are checked, others are not -----------------------------------------------

_VOLUME_SOURCES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "azureDisk", "portworxVolume", "scaleIO", "storageos",
    "projected", "csi", "ephemeral", "image", "photonPersistentDisk",
)  # fmt: skip
_HOST_PATH_TYPES: Final = (
    "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice",
)  # fmt: skip
_MODE: Final = within(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")
_KEY_TO_PATH: Final = members(("key", need()), ("path", need(relative_path)), ("mode", _MODE))


def _size_limit(field: str, limit: str) -> Problems:
    if quantity_value(limit) < 0:
        yield forbidden(field, "SizeLimit field must be a valid resource quantity")


def _host_path(field: str, source: Json) -> Problems:
    path = source.get("path", "")
    if not path:
        yield required(f"{field}.path")
        return
    if ".." in path.split("/"):
        yield invalid(f"{field}.path", path, "must not contain '..'")
    yield from supported(*_HOST_PATH_TYPES)(f"{field}.type", source.get("type") or "")


def _downward_item(field: str, item: Json) -> Problems:
    yield from check(field, item, ("path", need()))
    if item.get("fieldRef") is None and item.get("resourceFieldRef") is None:
        yield required(field, "one of fieldRef and resourceFieldRef is required")


_PROJECTED_PART: Final = given(members(("name", need()), ("items", each(_KEY_TO_PATH))))
_PROJECTED_SOURCE: Final = members(
    ("secret", _PROJECTED_PART),
    ("configMap", _PROJECTED_PART),
    ("serviceAccountToken", given(members(("path", need())))),
)
_SOURCE_RULES: Final = {
    "emptyDir": members(("sizeLimit", given(_size_limit))),
    "hostPath": _host_path,
    "secret": members(("secretName", need()), ("defaultMode", _MODE), ("items", each(_KEY_TO_PATH))),
    "configMap": members(("name", need()), ("defaultMode", _MODE), ("items", each(_KEY_TO_PATH))),
    "persistentVolumeClaim": members(("claimName", need())),
    "downwardAPI": members(("defaultMode", _MODE), ("items", each(_downward_item))),
    "projected": members(("defaultMode", _MODE), ("sources", each(_PROJECTED_SOURCE))),
}


def _volume_source(field: str, volume: Json) -> Problems:
    named = [name for name in _VOLUME_SOURCES if volume.get(name) is not None]
    if not named:
        yield required(field, "must specify a volume type")
    elif rule := _SOURCE_RULES.get(named[0]):
        yield from rule(f"{field}.{named[0]}", volume[named[0]])
    for name in named[1:]:
        yield forbidden(f"{field}.{name}", "may not specify more than 1 volume type")


def _volumes(field: str, volumes: Sequence[Json]) -> tuple[set[str], list[FieldError]]:
    """Names of the valid volumes, and what is wrong with the others."""
    names: set[str] = set()
    problems: list[FieldError] = []
    for n, volume in enumerate(volumes):
        place, name = f"{field}[{n}]", volume.get("name", "")
        found = [*_volume_source(place, volume), *need(dns_label)(f"{place}.name", name)]
        if name in names:
            found.append(duplicate(f"{place}.name", name))
        if not found:
            names.add(name)
        problems += found
    return names, problems


# -- the spec ----------------------------------------------------------------------------------------------------


def toleration(field: str, item: Json) -> Problems:
    key, operator = item.get("key", ""), item.get("operator", "")
    value, effect = item.get("value", ""), item.get("effect", "")
    if key:
        yield from qualified_name(f"{field}.key", key)
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{field}.operator", operator, detail)
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    if operator in ("Equal", ""):
        if found := label_value_problems(value):
            yield invalid(f"{field}.operator", value, ";".join(found))
    elif operator != "Exists":
        yield not_supported(f"{field}.operator", operator, ("Equal", "Exists"))
    elif value:
        yield invalid(f"{field}.operator", value, "value must be empty when `operator` is 'Exists'")
    yield from nonempty(supported(*TAINT_EFFECTS))(f"{field}.effect", effect)


def _skew(field: str, skew: int | None) -> Problems:
    if (skew or 0) <= 0:
        yield invalid(field, skew or 0, "must be greater than zero")


_GROUP: Final = within(0, MAX_INT32)


def _node_selector_term(field: str, term: Json) -> Problems:
    yield from label_selector(field, {"matchExpressions": term.get("matchExpressions")})


_NODE_TERMS: Final = need(each(_node_selector_term), "must have at least one node selector term")
_NODE_AFFINITY: Final = members(
    ("requiredDuringSchedulingIgnoredDuringExecution", given(members(("nodeSelectorTerms", _NODE_TERMS))))
)
_SPEC_ROWS: Final = (
    ("restartPolicy", one_of("Always", "OnFailure", "Never")),
    ("dnsPolicy", one_of("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")),
    ("nodeSelector", labels),
    (
        "securityContext",
        members(
            ("fsGroup", _GROUP),
            ("runAsUser", _GROUP),
            ("runAsGroup", _GROUP),
            ("supplementalGroups", each(_GROUP)),
        ),
    ),
    ("affinity", members(("nodeAffinity", _NODE_AFFINITY))),
    (
        "topologySpreadConstraints",
        each(
            members(
                ("maxSkew", _skew),
                ("topologyKey", need(detail="can not be empty")),
                ("whenUnsatisfiable", one_of("DoNotSchedule", "ScheduleAnyway")),
            )
        ),
    ),
    ("serviceAccountName", nonempty(dns_subdomain)),
    ("nodeName", nonempty(dns_subdomain)),
    ("activeDeadlineSeconds", within(1, MAX_INT32)),
    ("hostname", nonempty(dns_label)),
    ("subdomain", nonempty(dns_label)),
    ("tolerations", each(toleration)),
    ("hostAliases", each(members(("ip", ip_address), ("hostnames", each(dns_subdomain))))),
    ("priorityClassName", nonempty(dns_subdomain)),
    ("runtimeClassName", nonempty(dns_subdomain)),
    ("preemptionPolicy", given(one_of("Never", "PreemptLowerPriority"))),
)


def pod_spec_problems(field: str, spec: Json) -> Problems:
    volumes, problems = _volumes(f"{field}.volumes", spec.get("volumes") or ())
    yield from problems
    regular, initial = spec.get("containers") or (), spec.get("initContainers") or ()
    yield from container_problems(f"{field}.containers", regular, volumes)
    yield from init_container_problems(f"{field}.initContainers", initial, regular, volumes)
    yield from check(field, spec, *_SPEC_ROWS)


def image_problems(field: str, spec: Json) -> Problems:
    """Only pods reject spaces around an image; templates accept them."""
    for name in ("containers", "initContainers"):
        for n, container in enumerate(spec.get(name) or ()):
            if (image := container.get("image", "")) != image.strip():
                detail = "must not have leading or trailing whitespace"
                yield invalid(f"{field}.{name}[{n}].image", image, detail)


def template_problems(field: str, template: Json | None) -> Problems:
    found = template or {}
    meta = found.get("metadata") or {}
    yield from labels(f"{field}.labels", meta.get("labels"))
    for key in sorted(meta.get("annotations") or {}):
        for problem in qualified_name_problems(key.lower()):
            yield invalid(f"{field}.annotations", key, problem)
    yield from pod_spec_problems(f"{field}.spec", found.get("spec") or {})
