"""Rewrites container paths to host paths if mount namespaces are not available. Pure."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from picokube.nodeagent.data_directory import AgentPaths
from picokube.nodeagent.pods.container_view import (
    TMP,
    ContainerView,
    HostProgram,
    ViewRequest,
    container_view,
)
from picokube.nodeagent.pods.environment import ConfigProblem, Find, environment, expand_variables
from picokube.nodeagent.pods.process_mode import Host, is_token
from picokube.nodeagent.pods.volume_files import make_volumes, mounts_of
from picokube.nodeagent.supervisor.cri_log import log_path
from picokube.nodeagent.supervisor.protocol import RunKey, StartContainer

_BEFORE = r"(?<![A-Za-z0-9_./~-])"
_AFTER = r"(?![A-Za-z0-9_.-])"


class PathMapping:
    """Replaces complete path prefixes: `/data` in `/data/x` and `--out=/data`, but not in `/database`."""

    def __init__(self, host_paths: Mapping[str, str]) -> None:
        self._host_paths = {path.rstrip("/") or "/": host_path for path, host_path in host_paths.items()}
        # Longest first, because mounts can be nested.
        paths = sorted(self._host_paths, key=len, reverse=True)
        alternatives = "|".join(re.escape(path) for path in paths)
        self._pattern = re.compile(f"{_BEFORE}({alternatives}){_AFTER}") if paths else None

    def text(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._host_paths[match[1]], text)

    def texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(self.text(text) for text in texts)

    def values(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(value) for name, value in values.items()}


Obj = Mapping[str, Any]

DEFAULT_TERMINATION_PATH = "/dev/termination-log"
_PRIVATE, _SHARED_TMP = 0o700, 0o1777
_REFERENCES = {
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerContext:
    """What the start requests of all containers have in common."""

    paths: AgentPaths
    host: Host
    namespaces: bool
    inherited: Mapping[str, str]
    programs: tuple[HostProgram, ...] = ()
    """Host programs that containers of any user may start."""


def container_start_request(pod: Obj, key: RunKey, context: ContainerContext, find: Find) -> StartContainer:
    """The request to start a container, whose directories and files exist then. Raises ConfigProblem and OSError."""
    container = container_named(pod, key.container)
    user, group, groups = _identity(pod, container, context.host)
    volumes = make_volumes(pod, context.paths, find, group=_fs_group(pod, context.host))
    has_token = any(is_token(pod["spec"], volume["name"]) for volume in pod["spec"].get("volumes") or ())
    home = {} if has_token else {"HOME": TMP}
    env = environment(pod, container, {**context.inherited, **home}, find)
    mounts = mounts_of(container, volumes, env)
    files = _private_files(pod, key, context, user)
    termination_path = container.get("terminationMessagePath") or DEFAULT_TERMINATION_PATH
    argv = [expand_variables(arg, env) for arg in (*container["command"], *(container.get("args") or ()))]
    if context.namespaces:
        request = ViewRequest(
            data=context.paths.data,
            volumes=mounts,
            tmp=files.tmp,
            work=files.work,
            termination=files.termination,
            termination_path=termination_path,
            user=user,
            has_token=has_token,
            argv=argv,
            env=env,
            working_dir=container.get("workingDir") or "",
            programs=context.programs,
        )
        view = container_view(request)
        mapping = PathMapping({termination_path: view.termination})
    else:
        view = ContainerView(mounts=(), hidden=(), work=str(files.work), termination=str(files.termination))
        mapping = PathMapping(
            {**{mount.target: mount.source for mount in mounts}, termination_path: view.termination}
        )
        env = env | {"TMPDIR": str(files.tmp)} | ({"HOME": str(files.tmp)} if env.get("HOME") == TMP else {})
    return StartContainer(
        key=key,
        argv=mapping.texts(argv),
        env=mapping.values(env),
        cwd=mapping.text(container["workingDir"]) if container.get("workingDir") else view.work,
        log=str(log_path(context.paths.logs, key.pod, key.container)),
        mounts=view.mounts,
        hidden=view.hidden,
        user=user,
        group=group,
        groups=groups,
    )


def request_size(pod: Obj, key: RunKey) -> int:
    """The number of characters in the command, arguments and environment of a container."""
    container = container_named(pod, key.container)
    texts = (*container["command"], *(container.get("args") or ()))
    values = (variable.get("value") or "" for variable in container.get("env") or ())
    return sum(map(len, (*texts, *values)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PrivateFiles:
    tmp: Path
    work: Path
    termination: Path


def _private_files(pod: Obj, key: RunKey, context: ContainerContext, user: int | None) -> _PrivateFiles:
    """The private directories and termination message file of a container, created and owned by its user."""
    paths = context.paths
    files = _PrivateFiles(
        tmp=paths.tmp(key.pod),
        work=paths.work(key.pod, key.container),
        termination=paths.termination(key.pod, key.container, key.restart),
    )
    for directory in (files.tmp, files.work):
        if not directory.is_dir():
            directory.mkdir(parents=True, mode=_PRIVATE)
            if user is not None:
                os.chown(directory, user, -1)
    if len({_identity(pod, container, context.host)[0] for container in all_containers(pod)}) > 1:
        files.tmp.chmod(_SHARED_TMP)
    file = os.open(files.termination, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if user is not None:
            os.fchown(file, user, -1)
    finally:
        os.close(file)
    return files


def _fs_group(pod: Obj, host: Host) -> int | None:
    """The group that owns volumes. None unless the agent is root, because only root can change ownership."""
    group: int | None = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    return group if host.is_root else None


def all_containers(pod: Obj) -> list[Obj]:
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


def container_named(pod: Obj, name: str) -> Obj:
    return next(container for container in all_containers(pod) if container["name"] == name)


def references(pod: Obj) -> set[tuple[str, str]]:
    """The kind and name of every object that the pod's containers and volumes refer to."""
    spec, containers = pod["spec"], all_containers(pod)
    volumes = [item for item in spec.get("volumes") or () if not is_token(spec, item["name"])]
    return {
        *(reference for container in containers for reference in _container_references(container)),
        *(reference for volume in volumes for reference in _volume_references(volume)),
    }


def _container_references(container: Obj) -> Iterator[tuple[str, str]]:
    sources = [item.get("valueFrom") or {} for item in container.get("env") or ()]
    for source in [*sources, *(container.get("envFrom") or ())]:
        for field, kind in _REFERENCES.items():
            if source.get(field) is not None:
                yield kind, source[field]["name"]


def _volume_references(volume: Obj) -> Iterator[tuple[str, str]]:
    if (claim := volume.get("persistentVolumeClaim")) is not None:
        yield "PersistentVolumeClaim", claim["claimName"]
    for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
        if (ref := source.get("configMap")) is not None:
            yield "ConfigMap", ref.get("name", "")
        if (ref := source.get("secret")) is not None:
            yield "Secret", ref.get("secretName") or ref.get("name", "")


def _identity(pod: Obj, container: Obj, host: Host) -> tuple[int | None, int | None, tuple[int, ...]]:
    """User, group and supplementary groups of a container. None stands for those of the agent."""
    security = (pod["spec"].get("securityContext") or {}) | (container.get("securityContext") or {})
    user, group = security.get("runAsUser"), security.get("runAsGroup")
    runs_as = host.user if user is None else user
    if security.get("runAsNonRoot") and runs_as == 0:
        raise ConfigProblem(
            "container has runAsNonRoot and would run as root, the user of the node agent: set runAsUser"
        )
    groups = {*(security.get("supplementalGroups") or ())}
    if security.get("fsGroup") is not None:
        groups.add(security["fsGroup"])
    if not host.is_root:
        return None, None, ()
    user = None if user == host.user else user
    return user, group, tuple(sorted(groups))
