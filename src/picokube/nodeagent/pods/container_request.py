"""Builds the start request of a container, its view of the file system, and its directories and files.

Each pod has its own /tmp, which is also its HOME. The data directory, with the database, the kubeconfig and the files
of other pods, is hidden from pods without a service account token.

Containers of any user may start some host programs. Root's Python is often installed below a home directory that other
users can't enter. In the view of such a container, that directory is replaced with an empty one that contains read-only
mounts of only what the program needs.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from picokube.nodeagent.data_directory import AgentPaths
from picokube.nodeagent.pods.environment import ConfigProblem, Find, environment, expand_variables
from picokube.nodeagent.pods.process_mode import Host, HostProgram, is_token
from picokube.nodeagent.pods.volume_files import make_volumes, mounts_of
from picokube.nodeagent.supervisor.cri_log import log_path
from picokube.nodeagent.supervisor.protocol import Mount, RunKey, StartContainer

TMP = "/tmp"  # noqa: S108 - every pod has its own
FALLBACK_DIRECTORY = "/jangar"
"""Parent of the working directory if a volume covers its path on the host."""
CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
)
"""Environment variables that name host files, which must stay readable."""
_BEFORE = r"(?<![A-Za-z0-9_./~-])"
_AFTER = r"(?![A-Za-z0-9_.-])"
Obj = Mapping[str, Any]
DEFAULT_TERMINATION_PATH = "/dev/termination-log"
_PRIVATE, _SHARED_TMP = 0o700, 0o1777
_REFERENCES = {
    "configMapKeyRef": "ConfigMap",
    "configMapRef": "ConfigMap",
    "secretKeyRef": "Secret",
    "secretRef": "Secret",
}


def required_directories(
    programs: Iterable[HostProgram], argv: Sequence[str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """The directories that a command needs. Empty unless it starts one of the programs."""
    executable = shutil.which(argv[0], path=env.get("PATH"))
    for program in programs:
        if executable is not None and Path(executable).absolute() == Path(program.path):
            return tuple(dict.fromkeys(program.needs))
    return ()


def inaccessible_parent(path: str) -> str | None:
    """The outermost parent directory that other users can't enter, on the path itself or its symlink target."""
    for resolved in (path, os.path.realpath(path)):
        for parent in reversed(Path(resolved).parents):
            if not parent.stat().st_mode & stat.S_IXOTH:
                return os.path.realpath(parent)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerView:
    """Mounts in any order, and directories that are hidden."""

    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...]
    work: str
    """Path of the working directory inside the container."""
    termination: str
    """Path of the termination message file inside the container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """The inputs of a view. All directories and files exist."""

    data: Path
    volumes: Sequence[Mount]
    tmp: Path
    work: Path
    termination: Path
    termination_path: str
    """The path in the pod spec. Mounting there is expensive, so only pods with volumes use it."""
    user: int | None
    has_token: bool
    argv: Sequence[str]
    env: Mapping[str, str]
    working_dir: str = ""
    """The container's `workingDir`, a host directory. Empty if unset."""
    programs: Iterable[HostProgram] = ()


def container_view(request: ViewRequest) -> ContainerView:
    """The view of one container. Creates the mount points below the pod's /tmp."""
    mounts = list(request.volumes)
    if all(Path(mount.target) != Path(TMP) for mount in mounts):
        mounts.append(Mount(source=str(request.tmp), target=TMP))
        # Sandboxes such as bubblewrap resolve /tmp to its source path, which must exist in the view.
        mounts.append(Mount(source=str(request.tmp), target=str(request.tmp)))
    covered = [mount.target for mount in mounts]
    work = _visible_path(str(request.work), covered, "work")
    termination = _visible_path(str(request.termination), covered, "termination-message")
    if request.volumes:
        termination = request.termination_path
    needs = required_directories(request.programs, request.argv, request.env)
    hidden = _hidden_directories(request, needs)
    mounts.append(Mount(source=str(request.work), target=work))
    mounts.append(Mount(source=str(request.termination), target=termination))
    mounts += _host_file_mounts(request, needs, covered, hidden)
    if _must_mount_working_dir(request.working_dir, request.data, hidden):
        mounts.append(Mount(source=request.working_dir, target=request.working_dir))
    _make_mount_points(request.tmp, mounts)
    return ContainerView(mounts=tuple(mounts), hidden=hidden, work=work, termination=termination)


def _visible_path(path: str, covered: Iterable[str], name: str) -> str:
    """The path, or a fallback if a volume covers it."""
    return f"{FALLBACK_DIRECTORY}/{name}" if _is_below(path, covered) else path


def _hidden_directories(request: ViewRequest, needs: Sequence[str]) -> tuple[str, ...]:
    """The data directory, and directories that the container's user can't enter to reach its files and programs."""
    hidden = [str(request.data)] if not request.has_token else []
    if request.user is not None:
        paths = (str(request.work), *needs)
        hidden += [directory for path in paths if (directory := inaccessible_parent(path)) is not None]
    distinct = dict.fromkeys(hidden)
    return tuple(directory for directory in distinct if not _is_below(directory, distinct, strictly=True))


def _host_file_mounts(
    request: ViewRequest, needs: Sequence[str], covered: Sequence[str], hidden: Sequence[str]
) -> list[Mount]:
    """Read-only mounts of the programs and certificates that would be hidden."""
    paths = [*(request.env[name] for name in CERTIFICATES if request.env.get(name)), *needs]
    return [
        Mount(source=os.path.realpath(path), target=path, read_only=True)
        for path in dict.fromkeys(paths)
        if _is_below(path, [*covered, *hidden])
        and not _is_below(path, [str(request.data)])
        and Path(path).exists()
    ]


def _must_mount_working_dir(directory: str, data: Path, hidden: Sequence[str]) -> bool:
    """Whether the directory is hidden only because the user can't enter a parent. The data directory stays hidden."""
    return (
        bool(directory)
        and _is_below(directory, hidden, strictly=True)
        and not _is_below(directory, [str(data)])
        and not _is_below(str(data), [directory])
        and Path(directory).is_dir()
    )


def _make_mount_points(tmp: Path, mounts: Iterable[Mount]) -> None:
    """Create mount points in the pod's /tmp. Otherwise, the view would cover it with a copy."""
    for mount in mounts:
        target = Path(mount.target)
        if target == Path(TMP) or not target.is_relative_to(TMP):
            continue
        mount_point = tmp / target.relative_to(TMP)
        if Path(mount.source).is_dir():
            mount_point.mkdir(parents=True, exist_ok=True)
        else:
            mount_point.parent.mkdir(parents=True, exist_ok=True)
            mount_point.touch()


def _is_below(path: str, directories: Iterable[str], *, strictly: bool = False) -> bool:
    return any(
        Path(path).is_relative_to(directory) and not (strictly and Path(path) == Path(directory))
        for directory in directories
    )


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
