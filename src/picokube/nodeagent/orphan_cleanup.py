"""What pods leave behind when their object is gone: processes, records, volumes, logs. Each goes in its time."""

import asyncio
import logging
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from picokube.nodeagent.pods.volume_files import Places
from picokube.nodeagent.supervisor_link import SupervisorLink

log = logging.getLogger("picokube.nodeagent")

DISCARD_SECONDS = 1.0
SWEEP_EVERY = 15


class Leavings:
    """Sweeps now and then. A pod must have been gone for a while: its records guard against a second start."""

    def __init__(
        self,
        link: SupervisorLink,
        places: Callable[[], Places],
        exists: Callable[[str], bool],
        *,
        remove_discarded: Callable[[], None],
        keep_seconds: float,
    ) -> None:
        self._remove_discarded = remove_discarded
        self._link, self._places, self._exists, self._keep = link, places, exists, keep_seconds
        self._gone_since: dict[str, float] = {}

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._link.connected()
            try:
                self.sweep(asyncio.get_running_loop().time())
            except OSError as error:
                # No files left, for one: what is left behind is looked for again.
                log.warning("sweep failed: %s", error)
            for _ in range(SWEEP_EVERY):
                await self._discard()
                await asyncio.sleep(DISCARD_SECONDS)

    async def _discard(self) -> None:
        try:
            await asyncio.to_thread(self._remove_discarded)
        except (OSError, RuntimeError) as error:
            # RuntimeError: no thread can be started.
            log.warning("removal of files of ended pods failed: %s", error)

    def gone(self, uid: str) -> None:
        """The pod's object has just gone: whatever still runs ends at once."""
        self.end(uid)

    def end(self, uid: str) -> bool:
        """Kill what runs; whether nothing does."""
        running = [run for run in self._link.runs_of(uid) if not run.is_over]
        for run in running:
            self._link.stop(run.key, 0)
        return not running

    def sweep(self, now: float) -> None:
        places = self._places()
        scratch = _entries(places.scratch)
        known = {
            *self._link.pods(),
            *_names(places.logs),
            *_names(places.data / "pods"),
            *(path.name.partition(".")[0] for path in scratch),
        }
        gone = {uid for uid in known if not self._exists(uid)}
        self._gone_since = {uid: self._gone_since.get(uid, now) for uid in gone}
        for uid in gone:
            if self.end(uid) and now - self._gone_since[uid] >= self._keep:
                if self._link.runs_of(uid):
                    self._link.forget(uid)
                shutil.rmtree(places.pod(uid), ignore_errors=True)
                shutil.rmtree(places.logs / uid, ignore_errors=True)
                _remove(path for path in scratch if path.name.startswith(f"{uid}."))
                del self._gone_since[uid]


def _names(directory: Path) -> list[str]:
    return [each.name for each in _entries(directory)]


def _entries(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
