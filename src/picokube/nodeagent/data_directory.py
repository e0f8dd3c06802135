"""The data directory of the agent: its paths, its owner, and the removal of files and processes of deleted pods.

A directory that belongs to a different API server is rejected, because the agent would kill and delete every pod.
"""

import asyncio
import contextlib
import fcntl
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kubekit.client.api_client import Client
from kubekit.client.builtin import NAMESPACES
from kubekit.client.errors import ApiError, is_transient
from picokube.nodeagent.supervisor_link import SupervisorLink

RETRY_SECONDS = 0.5
OWNER_FILE = "node-agent-of"
"""Contains the uid of the API server's kube-system namespace, and is locked by the running agent."""
SCRATCH_LINK = "shared-scratch"
_SCRATCH_MODE = 0o711
"""Other users can enter it but not list it."""
log = logging.getLogger("picokube.nodeagent")
DISCARD_SECONDS = 1.0
DISCARDS_PER_SWEEP = 15


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


class DirectoryInUse(Exception):
    """Another agent is using the data directory."""


class ForeignDirectory(Exception):
    """The data directory belongs to a different API server."""


@asynccontextmanager
async def claim_directory(client: Client, directory: Path) -> AsyncIterator[None]:
    """Lock the directory for this agent and bind it to this API server.

    Raises DirectoryInUse and ForeignDirectory.
    """
    with _locked_owner_file(directory) as file:
        _verify_owner(directory, file, await _server_uid(client))
        yield


@contextmanager
def _locked_owner_file(directory: Path) -> Iterator[int]:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = os.open(directory / OWNER_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DirectoryInUse(f"data directory {directory} is in use by another node agent") from None
    else:
        yield file
    finally:
        os.close(file)


def _verify_owner(directory: Path, file: int, uid: str) -> None:
    owner = os.pread(file, 200, 0).decode().strip()
    if not owner:
        os.pwrite(file, f"{uid}\n".encode(), 0)
    elif owner != uid:
        raise ForeignDirectory(
            f"data directory {directory} belongs to a different Kubernetes API server. Use the data directory of this "
            f"server. If the other server no longer exists, remove {directory / OWNER_FILE}"
        )


async def _server_uid(client: Client) -> str:
    while True:
        try:
            namespace = await client.get(NAMESPACES, "kube-system")
        except ApiError as error:
            if not is_transient(error):
                raise
            await asyncio.sleep(RETRY_SECONDS)
        else:
            return str(namespace["metadata"]["uid"])


def shared_scratch(data: Path, base: Path | None = None) -> Path | None:
    """The shared directory of a data directory, created if missing. None if other users could not reach it."""
    link = data / SCRATCH_LINK
    with contextlib.suppress(OSError):
        existing = link.readlink()
        if _is_valid(existing) and _is_reachable(existing.parent):
            return existing
    base = (base or Path(tempfile.gettempdir())).resolve()
    if not _is_reachable(base):
        return None
    directory = Path(tempfile.mkdtemp(prefix="jangar-scratch-", dir=base))
    directory.chmod(_SCRATCH_MODE)
    new_link = link.with_suffix(".new")
    new_link.unlink(missing_ok=True)
    new_link.symlink_to(directory)
    new_link.replace(link)
    return directory


def remove_shared_scratch(data: Path) -> None:
    """Remove the shared directory if it is empty."""
    with contextlib.suppress(OSError):
        (data / SCRATCH_LINK).readlink().rmdir()


def _is_valid(directory: Path) -> bool:
    info = directory.lstat()
    return (
        stat.S_ISDIR(info.st_mode)
        and info.st_uid == os.geteuid()
        and stat.S_IMODE(info.st_mode) == _SCRATCH_MODE
    )


def _is_reachable(directory: Path) -> bool:
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (directory, *directory.parents))


class OrphanCleanup:
    """Sweeps periodically. Records are kept for `keep_seconds`, because they prevent a second start of a container."""

    def __init__(
        self,
        link: SupervisorLink,
        paths: Callable[[], AgentPaths],
        exists: Callable[[str], bool],
        *,
        remove_discarded: Callable[[], None],
        keep_seconds: float,
    ) -> None:
        self._remove_discarded = remove_discarded
        self._link, self._paths, self._exists, self._keep_seconds = link, paths, exists, keep_seconds
        self._orphaned_at: dict[str, float] = {}

    async def run(self) -> None:
        """Run until canceled."""
        while True:
            await self._link.connected()
            try:
                self.sweep(asyncio.get_running_loop().time())
            except OSError as error:
                # For example, too many open files. The next sweep tries again.
                log.warning("orphan sweep failed", extra={"error": str(error)})
            for _ in range(DISCARDS_PER_SWEEP):
                await self._discard()
                await asyncio.sleep(DISCARD_SECONDS)

    async def _discard(self) -> None:
        try:
            await asyncio.to_thread(self._remove_discarded)
        except (OSError, RuntimeError) as error:
            # RuntimeError: can't start a new thread.
            log.warning("pod file removal failed", extra={"error": str(error)})

    def kill_containers(self, uid: str) -> bool:
        """Kill the containers of a pod. Whether none is running."""
        running = [run for run in self._link.runs_of(uid) if not run.is_over]
        for run in running:
            self._link.stop(run.key, 0)
        return not running

    def sweep(self, now: float) -> None:
        paths = self._paths()
        scratch = _entries(paths.scratch)
        uids = {
            *self._link.pods(),
            *_names(paths.logs),
            *_names(paths.data / "pods"),
            *(path.name.partition(".")[0] for path in scratch),
        }
        orphans = {uid for uid in uids if not self._exists(uid)}
        self._orphaned_at = {uid: self._orphaned_at.get(uid, now) for uid in orphans}
        for uid in orphans:
            if self.kill_containers(uid) and now - self._orphaned_at[uid] >= self._keep_seconds:
                if self._link.runs_of(uid):
                    self._link.forget(uid)
                shutil.rmtree(paths.pod(uid), ignore_errors=True)
                shutil.rmtree(paths.logs / uid, ignore_errors=True)
                _remove_all(path for path in scratch if path.name.startswith(f"{uid}."))
                del self._orphaned_at[uid]


def _names(directory: Path) -> list[str]:
    return [entry.name for entry in _entries(directory)]


def _entries(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def _remove_all(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
