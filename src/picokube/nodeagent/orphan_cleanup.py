"""Removes the processes, records, volumes and logs of pods that were deleted from the API."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from picokube.nodeagent.pods.volume_files import AgentPaths
from picokube.nodeagent.supervisor_link import SupervisorLink

log = logging.getLogger("picokube.nodeagent")

DISCARD_SECONDS = 1.0
DISCARDS_PER_SWEEP = 15


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
                _remove(path for path in scratch if path.name.startswith(f"{uid}."))
                del self._orphaned_at[uid]


def _names(directory: Path) -> list[str]:
    return [entry.name for entry in _entries(directory)]


def _entries(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
