"""What is wrong with the volumes of a pod. Sources that users bring are checked, others taken as they are."""

from collections.abc import Callable, Sequence
from typing import Final

from picokube.apiserver.strategies.checks import (
    Json,
    dns_label,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from picokube.apiserver.strategies.pod_container_parts import relative_path_problems
from picokube.apiserver.strategies.scalar_types import quantity_value
from picokube.schema import FieldError

_ORDER: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc",
    "flexVolume", "configMap", "azureFile", "vsphereVolume", "azureDisk", "portworxVolume", "scaleIO", "storageos",
    "projected", "csi", "ephemeral", "image", "photonPersistentDisk",
)  # fmt: skip
_MOST: Final = 0o777
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
    named = [name for name in _ORDER if volume.get(name) is not None]
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
        [invalid(f"{field}.defaultMode", mode, _MODES)] if mode is not None and not 0 <= mode <= _MOST else []
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
        if mode is not None and not 0 <= mode <= _MOST:
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
