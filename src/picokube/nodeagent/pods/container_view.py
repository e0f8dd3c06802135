"""Host programs that containers of any user may start.

Root's Python is often installed below a home directory that other users can't enter. In the view of such a container,
that directory is replaced with an empty one that contains read-only mounts of only what the program needs.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from picokube.nodeagent.supervisor.protocol import Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProgram:
    """A program and the directories that it needs."""

    path: str
    needs: tuple[str, ...]


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
