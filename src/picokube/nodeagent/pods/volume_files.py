"""Creates the volumes of a pod as local directories, including the token volume for access to the API server.

Only pods that mount a token (`automountServiceAccountToken`) get access, and only if mount namespaces are available. A
token is bound to its pod and expires with it, so it isn't renewed. `find` looks up the referenced objects.
"""

import logging
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kubekit.client.api_client import Client
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import ApiError, NotFound
from kubekit.client.resource import Resource
from picokube.nodeagent.data_directory import AgentPaths
from picokube.nodeagent.pods.environment import (
    ConfigProblem,
    Find,
    UnknownField,
    contents,
    expand_variables,
    pod_field,
    resource_field,
)
from picokube.nodeagent.pods.process_mode import is_token
from picokube.nodeagent.supervisor.protocol import Mount

Obj = Mapping[str, Any]

_FILE_MODE = 0o644
_SHARED_DIRECTORY = 0o777
_GROUP_DIRECTORY = 0o2770
_GROUP_FILE = 0o660
log = logging.getLogger("picokube.nodeagent")
TOKEN_SECONDS: Final = 365 * 24 * 3600
"""The lifetime to which kube-apiserver extends such tokens."""
ROOT_CERTIFICATE: Final = "kube-root-ca.crt"
DEFAULT_ACCOUNT: Final = "default"
_TOKEN_DIRECTORY = 0o755


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """Prepares the token volume and environment of pods."""

    client: Client
    paths: AgentPaths
    server: str
    """URL of the API server, such as `https://127.0.0.1:7447`. Empty if pods can't reach it."""

    async def prepare(self, pod: Obj) -> Mapping[str, str]:
        """Write the files of the token volume, once, and return the environment variables of the server address."""
        spec, meta = pod["spec"], pod["metadata"]
        name = next(
            (volume["name"] for volume in spec.get("volumes") or () if is_token(spec, volume["name"])), None
        )
        if name is None or not self.server.startswith("https:"):
            return {}
        directory = self.paths.volume(meta["uid"], name)
        if not (directory / "token").exists():
            try:
                token = await self._token(pod)
                certificate = await self._certificate(meta["namespace"])
            except ApiError as error:
                log.warning(
                    "service account token request failed; starting the pod without a token",
                    extra={"namespace": meta["namespace"], "pod": meta["name"], "error": str(error)},
                )
                return {}
            _write_files(directory, {"namespace": meta["namespace"], "ca.crt": certificate, "token": token})
        address = urlsplit(self.server)
        return {
            "KUBERNETES_SERVICE_HOST": address.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(address.port or 443),
        }

    async def _token(self, pod: Obj) -> str:
        meta = pod["metadata"]
        account = pod["spec"].get("serviceAccountName") or DEFAULT_ACCOUNT
        bound = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
        # TokenRequest is a subresource of the service account.
        tokens = Resource("", "v1", f"serviceaccounts/{account}/token", "TokenRequest")
        response = await self.client.create(
            tokens,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "metadata": {"name": account, "namespace": meta["namespace"]},
                "spec": {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound},
            },
        )
        token: str = response["status"]["token"]
        return token

    async def _certificate(self, namespace: str) -> str:
        try:
            config_map: Any = await self.client.get(CONFIG_MAPS, ROOT_CERTIFICATE, namespace)
        except NotFound:
            return ""
        certificate: str = (config_map.get("data") or {}).get("ca.crt", "")
        return certificate


def _write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write the files in order. The token comes last and marks the volume as complete."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(_TOKEN_DIRECTORY)
    for name, text in files.items():
        path = directory / name
        path.write_text(text)
        path.chmod(_FILE_MODE)
