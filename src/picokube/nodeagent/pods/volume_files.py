"""Creates the volumes of a pod as local directories. `find` looks up the referenced objects."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from picokube.nodeagent.pods.environment import ConfigProblem, Find, contents
from picokube.nodeagent.pods.expansion import expand_variables
from picokube.nodeagent.pods.pod_fields import UnknownField, pod_field, resource_field
from picokube.nodeagent.pods.spec_checks import is_token
from picokube.nodeagent.supervisor.protocol import Mount

Obj = Mapping[str, Any]

_FILE_MODE = 0o644
_SHARED_DIRECTORY = 0o777
_GROUP_DIRECTORY = 0o2770
_GROUP_FILE = 0o660


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPaths:
    """The directories and files of the agent."""

    data: Path
    shared: Path | None = None
    """Scratch directory that other users can reach without a mount namespace. If None, it is inside `data`."""

    def pod(self, uid: str) -> Path:
        return self.data / "pods" / uid

    def volume(self, uid: str, name: str) -> Path:
        return self.pod(uid) / "volumes" / name

    def claim(self, namespace: str, name: str, uid: str) -> Path:
        return self.data / "claims" / namespace / f"{name}-{uid}"

    def termination(self, uid: str, container: str, restart: int) -> Path:
        return self.scratch / f"{uid}.{container}.{restart}"

    def work(self, uid: str, container: str) -> Path:
        return self.scratch / f"{uid}.{container}"

    @property
    def scratch(self) -> Path:
        """Private directories and termination messages of all pods. Flat, because creating directories is slow."""
        return self.shared or self.data / "scratch"

    def tmp(self, uid: str) -> Path:
        """The pod's /tmp. `+` is not allowed in container names."""
        return self.scratch / f"{uid}.+tmp"

    def remove_tmp(self, uid: str) -> None:
        _remove_directory(self.tmp(uid))

    def remove_scratch(self, uid: str, container: str) -> None:
        _remove_directory(self.work(uid, container))
        restart = 0
        while restart == 0 or self.termination(uid, container, restart - 1).exists():
            restart += 1
        for number in range(restart):
            self.termination(uid, container, number).unlink(missing_ok=True)

    @property
    def logs(self) -> Path:
        return self.data / "pod-logs"

    @property
    def supervisor(self) -> Path:
        return self.data / "supervisor"


def _remove_directory(path: Path) -> None:
    try:
        path.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def make_volumes(pod: Obj, paths: AgentPaths, find: Find, *, group: int | None = None) -> dict[str, Path]:
    """Create missing volumes. Returns the directory of each volume. Raises ConfigProblem.

    `group` is the pod's `fsGroup`, which can write to all volumes except hostPath.
    """
    spec, meta = pod["spec"], pod["metadata"]
    directories: dict[str, Path] = {}
    for volume in spec.get("volumes") or ():
        name = volume["name"]
        if is_token(spec, name):
            if (token := paths.volume(meta["uid"], name)).is_dir():
                directories[name] = token
            continue
        if (path := volume.get("hostPath")) is not None:
            directories[name] = _host_path(path)
        elif (claim := volume.get("persistentVolumeClaim")) is not None:
            directories[name] = _claim_directory(meta["namespace"], claim["claimName"], paths, find)
            if group is not None:
                apply_fs_group(directories[name], group)
        else:
            directories[name] = paths.volume(meta["uid"], name)
            if not directories[name].exists():
                _create_volume(directories[name], pod, volume, find)
                if group is not None:
                    apply_fs_group(directories[name], group)
    return directories


def apply_fs_group(volume: Path, group: int) -> None:
    """Change the group of a volume as Kubernetes does for `fsGroup`, unless the volume already has it."""
    if volume.stat().st_gid == group and volume.stat().st_mode & stat.S_ISGID:
        return
    for directory, _, files in os.walk(volume, topdown=False):
        for path in (*(Path(directory, name) for name in files), Path(directory)):
            if path.is_symlink():
                continue
            os.chown(path, -1, group)
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | (_GROUP_DIRECTORY if path.is_dir() else _GROUP_FILE))


def mounts_of(container: Obj, volumes: Mapping[str, Path], env: Mapping[str, str]) -> list[Mount]:
    """The volume mounts of a container. Raises ConfigProblem."""
    mounts = []
    for mount in container.get("volumeMounts") or ():
        if mount["name"] not in volumes:
            continue
        source = volumes[mount["name"]]
        sub_path = mount.get("subPath") or expand_variables(mount.get("subPathExpr") or "", env)
        if sub_path:
            source = _sub_path(source, sub_path)
        mounts.append(
            Mount(source=str(source), target=mount["mountPath"], read_only=bool(mount.get("readOnly")))
        )
    return mounts


def _sub_path(volume: Path, sub_path: str) -> Path:
    path = Path(os.path.realpath(volume / sub_path))
    if not path.is_relative_to(os.path.realpath(volume)):
        raise ConfigProblem(f"subPath {sub_path!r} must not point outside the volume")
    if not path.exists():
        path.mkdir(parents=True)
    return path


def _host_path(volume: Obj) -> Path:
    path, kind = Path(volume["path"]), volume.get("type") or ""
    if kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate" and not path.exists():
        path.touch()
    if not path.exists():
        raise ConfigProblem(f"hostPath {path}: no such file or directory")
    if (kind == "Directory" and not path.is_dir()) or (kind == "File" and not path.is_file()):
        raise ConfigProblem(f"hostPath {path}: not of type {kind}")
    return path


def _claim_directory(namespace: str, name: str, paths: AgentPaths, find: Find) -> Path:
    claim = find("PersistentVolumeClaim", name)
    if claim is None:
        raise ConfigProblem(f'persistentvolumeclaim "{name}" not found')
    path = paths.claim(namespace, name, claim["metadata"]["uid"])
    if not path.exists():
        path.mkdir(parents=True)
        # Containers of any user can write to it. The data directory protects it from other processes.
        path.chmod(_SHARED_DIRECTORY)
    return path


def _create_volume(directory: Path, pod: Obj, volume: Obj, find: Find) -> None:
    """Create a volume atomically: write a temporary directory and rename it."""
    if "emptyDir" in volume:
        directory.mkdir(parents=True)
        directory.chmod(_SHARED_DIRECTORY)
        return
    new = directory.with_name(f"{directory.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for path, content, mode in _files(pod, volume, find):
        file = new / path
        if not file.resolve().is_relative_to(new.resolve()):
            raise ConfigProblem(f"path {path!r} must not point outside the volume")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(mode)
    new.rename(directory)


def _files(pod: Obj, volume: Obj, find: Find) -> Iterator[tuple[str, bytes, int]]:
    for kind, source in _sources(volume):
        mode = source.get("defaultMode") or (volume.get("projected") or {}).get("defaultMode") or _FILE_MODE
        if kind == "downwardAPI":
            yield from _fields(pod, source, mode)
            continue
        name = source.get("secretName") or source.get("name") or ""
        obj = find("Secret" if kind == "secret" else "ConfigMap", name)
        if obj is None:
            if source.get("optional"):
                continue
            raise ConfigProblem(f'{"secret" if kind == "secret" else "configmap"} "{name}" not found')
        yield from _keys(obj, source, mode)


def _sources(volume: Obj) -> Iterator[tuple[str, Obj]]:
    for kind in ("configMap", "secret", "downwardAPI"):
        if volume.get(kind) is not None:
            yield kind, volume[kind]
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from _sources(source)


def _keys(obj: Obj, source: Obj, mode: int) -> Iterator[tuple[str, bytes, int]]:
    values = contents(obj)
    if not source.get("items"):
        yield from ((key, value, mode) for key, value in values.items())
        return
    for item in source["items"]:
        if item["key"] in values:
            yield item["path"], values[item["key"]], item.get("mode") or mode
        elif not source.get("optional"):
            raise ConfigProblem(f"references non-existent config key: {item['key']}")


def _fields(pod: Obj, source: Obj, mode: int) -> Iterator[tuple[str, bytes, int]]:
    containers = {container["name"]: container for container in pod["spec"]["containers"]}
    for item in source.get("items") or ():
        try:
            if (ref := item.get("fieldRef")) is not None:
                text = pod_field(pod, ref["fieldPath"])
            else:
                ref = item["resourceFieldRef"]
                text = resource_field(containers.get(ref.get("containerName", ""), {}), ref)
        except UnknownField as error:
            raise ConfigProblem(str(error)) from error
        yield item["path"], text.encode(), item.get("mode") or mode
