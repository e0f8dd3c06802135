"""What a container sees of this machine: its volumes, private directories, and nothing of the data directory.

A pod's own /tmp hides the machine's, and is its HOME. The data directory, with the database, the kubeconfig and the
files of other pods, is hidden from every pod that has no service account token.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from picokube.nodeagent.pods.own_programs import OwnProgram, closed_directory, program_needs
from picokube.nodeagent.supervisor.orders import Mount

TMP = "/tmp"  # noqa: S108 - every pod has its own
OWN_DIRECTORY = "/jangar"
"""Where the working directory stands if a volume covers its path on the machine."""
CERTIFICATES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
)
"""Variables that name files of the machine, which must stay readable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerView:
    """Mounts in no order, and directories that are hidden."""

    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...]
    work: str
    """The path of the working directory, as the container sees it."""
    termination: str
    """The path of the file for the termination message, as the container sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """What a view is made from: directories and files that exist."""

    data: Path
    volumes: Sequence[Mount]
    tmp: Path
    work: Path
    termination: Path
    termination_path: str
    """Where the pod says that the file stands. Mounting there is dear, so it happens only for pods with volumes."""
    user: int | None
    has_token: bool
    argv: Sequence[str]
    env: Mapping[str, str]
    working_dir: str = ""
    """The directory of the machine that the pod names to work in; empty if it names none."""
    programs: Iterable[OwnProgram] = ()


def container_view(given: ViewRequest) -> ContainerView:
    """The view of one container; makes the mount points that lie below its own /tmp."""
    mounts = list(given.volumes)
    if all(Path(each.target) != Path(TMP) for each in mounts):
        mounts.append(Mount(source=str(given.tmp), target=TMP))
        # Sandboxes such as bubblewrap ask the kernel for the path of /tmp, and get this one.
        mounts.append(Mount(source=str(given.tmp), target=str(given.tmp)))
    covered = [each.target for each in mounts]
    work = _outside(str(given.work), covered, "work")
    termination = _outside(str(given.termination), covered, "termination-message")
    if given.volumes:
        termination = given.termination_path
    needs = program_needs(given.programs, given.argv, given.env)
    hidden = _hidden(given, needs)
    mounts.append(Mount(source=str(given.work), target=work))
    mounts.append(Mount(source=str(given.termination), target=termination))
    mounts += _readable(given, needs, covered, hidden)
    if _is_brought(given.working_dir, given.data, hidden):
        mounts.append(Mount(source=given.working_dir, target=given.working_dir))
    _make_mount_points(given.tmp, mounts)
    return ContainerView(mounts=tuple(mounts), hidden=hidden, work=work, termination=termination)


def _outside(path: str, covered: Iterable[str], name: str) -> str:
    """The path itself, or one of the container's own if a volume covers it."""
    return f"{OWN_DIRECTORY}/{name}" if _is_below(path, covered) else path


def _hidden(given: ViewRequest, needs: Sequence[str]) -> tuple[str, ...]:
    """The data directory, and what another user could not enter on the way to its own files and programs."""
    closed = [str(given.data)] if not given.has_token else []
    if given.user is not None:
        ways = (str(given.work), *needs)
        closed += [found for way in ways if (found := closed_directory(way)) is not None]
    distinct = dict.fromkeys(closed)
    return tuple(each for each in distinct if not _is_below(each, distinct, strictly=True))


def _readable(
    given: ViewRequest, needs: Sequence[str], covered: Sequence[str], hidden: Sequence[str]
) -> list[Mount]:
    """Programs and certificates of the machine that would be hidden, at their paths and read-only."""
    paths = [*(given.env[name] for name in CERTIFICATES if given.env.get(name)), *needs]
    return [
        Mount(source=os.path.realpath(path), target=path, read_only=True)
        for path in dict.fromkeys(paths)
        if _is_below(path, [*covered, *hidden])
        and not _is_below(path, [str(given.data)])
        and Path(path).exists()
    ]


def _is_brought(directory: str, data: Path, hidden: Sequence[str]) -> bool:
    """Whether a directory would be hidden only because its user could not enter it; the data directory stays hidden."""
    return (
        bool(directory)
        and _is_below(directory, hidden, strictly=True)
        and not _is_below(directory, [str(data)])
        and not _is_below(str(data), [directory])
        and Path(directory).is_dir()
    )


def _make_mount_points(tmp: Path, mounts: Iterable[Mount]) -> None:
    """In the pod's own /tmp: a view would otherwise cover it with a copy."""
    for mount in mounts:
        target = Path(mount.target)
        if target == Path(TMP) or not target.is_relative_to(TMP):
            continue
        place = tmp / target.relative_to(TMP)
        if Path(mount.source).is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()


def _is_below(path: str, directories: Iterable[str], *, strictly: bool = False) -> bool:
    return any(
        Path(path).is_relative_to(each) and not (strictly and Path(path) == Path(each))
        for each in directories
    )
