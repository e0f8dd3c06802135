"""The supervisor's journal of container runs, and the recovery after the death of a supervisor.

The journal has one JSON entry per line, appended before an agent is notified. If the disk is full, entries are kept in
memory in order, and written when there is space again. After a crash, containers that were running are killed and
recorded as lost.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.protocol import Run, RunKey

MAX_STALE_LINES = 20_000
_BATCH_SIZE = 1000
REBOOTED, SUPERVISOR_LOST = "NodeRebooted", "SupervisorLost"
LOST_EXIT_CODE = 137
KILL_SECONDS = 1.0


@dataclass(slots=True)
class JournalState:
    """The state after applying all journal entries."""

    runs: dict[RunKey, Run] = field(default_factory=dict)
    boots: dict[RunKey, str] = field(default_factory=dict)
    start_ticks: dict[RunKey, int] = field(default_factory=dict)
    """Start time of the init process in clock ticks, which with the pid identifies a process."""
    lines: int = 0

    def apply(self, entry: dict[str, Any]) -> None:
        self.lines += 1
        if entry["fact"] == "forgotten":
            for key in [key for key in self.runs if key.pod == entry["pod"]]:
                self._drop(key)
            return
        key = RunKey(*entry["key"])
        match entry["fact"]:
            case "intended":
                self.runs[key] = Run(key=key, started_at=entry["at"])
                self.boots[key] = entry["boot"]
            case "withdrawn":
                self._drop(key)
            case "started":
                self.start_ticks[key] = entry["birth"]
                self.runs[key] = replace(
                    self.runs[key], state="running", pid=entry["pid"], started_at=entry["at"]
                )
            case "ended" | "lost" as state:
                self.runs[key] = replace(
                    self.runs[key],
                    state=state,
                    code=entry["code"],
                    finished_at=entry["at"],
                    reason=entry["reason"],
                    message=entry["message"],
                )

    def _drop(self, key: RunKey) -> None:
        del self.runs[key]
        self.boots.pop(key, None)
        self.start_ticks.pop(key, None)

    def entries(self) -> Iterable[dict[str, Any]]:
        """The minimal entries that produce this state."""
        for key, run in self.runs.items():
            yield intended_entry(key, self.boots.get(key, ""), run.started_at)
            if run.pid:
                yield started_entry(key, run.pid, self.start_ticks.get(key, 0), run.started_at)
            if run.is_over:
                yield ended_entry(run)


def intended_entry(key: RunKey, boot: str, at: float) -> dict[str, Any]:
    return {"fact": "intended", "key": list(key), "boot": boot, "at": at}


def started_entry(key: RunKey, pid: int, birth: int, at: float) -> dict[str, Any]:
    return {"fact": "started", "key": list(key), "pid": pid, "birth": birth, "at": at}


def ended_entry(run: Run) -> dict[str, Any]:
    return {
        "fact": run.state,
        "key": list(run.key),
        "code": run.code,
        "at": run.finished_at,
        "reason": run.reason,
        "message": run.message,
    }


def withdrawn_entry(key: RunKey) -> dict[str, Any]:
    """Cancels an intended start of which nothing ran. It may be requested again."""
    return {"fact": "withdrawn", "key": list(key)}


def forgotten_entry(pod: str) -> dict[str, Any]:
    return {"fact": "forgotten", "pod": pod}


class Journal:
    """Appends entries. After `sync`, they survive a crash of the machine."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if not even an empty file can be created."""
        self._path = path
        self.state = JournalState()
        self._pending: list[bytes] = []
        self._needs_sync = False
        if path.exists():
            for line in path.read_bytes().split(b"\n"):
                _apply_line(self.state, line)
        self._file = -1
        with suppress(OSError):
            self._rewrite()
        if self._file < 0:
            # The disk is full. Append to the existing file.
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._pending.append(b"\n")

    @property
    def has_unwritten(self) -> bool:
        """Whether entries are not on disk yet."""
        return bool(self._pending) or self._needs_sync

    def write(self, entry: dict[str, Any]) -> None:
        """Append an entry. Never fails: entries that can't be written stay pending."""
        self.state.apply(entry)
        self._pending.append(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        self.flush()

    def append_durably(self, entries: Sequence[dict[str, Any]]) -> bool:
        """Append and sync all entries or none. Whether it succeeded."""
        if not self.flush():
            return False
        lines = b"".join(json.dumps(entry, separators=(",", ":")).encode() + b"\n" for entry in entries)
        try:
            self._append(lines)
            os.fdatasync(self._file)
        except OSError:
            return False
        self._needs_sync = False
        for entry in entries:
            self.state.apply(entry)
        return True

    def flush(self) -> bool:
        """Write the pending entries. Whether it succeeded."""
        if not self._pending:
            return True
        data = b"".join(self._pending)
        try:
            self._append(data)
        except OSError:
            self._pending = [data]
            return False
        self._pending = []
        return True

    def _append(self, data: bytes) -> None:
        """Append all data or nothing, because a partial line would corrupt the next one."""
        size = os.fstat(self._file).st_size
        try:
            _write_all(self._file, data)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def sync(self) -> bool:
        """Make all entries durable. Whether it succeeded."""
        self._needs_sync = True
        if not self.flush():
            return False
        try:
            os.fdatasync(self._file)
        except OSError:
            return False
        self._needs_sync = False
        return True

    def compact(self) -> None:
        """Rewrite the journal without dropped runs if it has grown too long."""
        if self.state.lines > MAX_STALE_LINES + 4 * len(self.state.runs):
            with suppress(OSError):
                self._rewrite()

    def _rewrite(self) -> None:
        """Replace the file atomically. If that fails, the old file stays in use."""
        new = self._path.with_suffix(".new")
        entries = list(self.state.entries())
        opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            for start in range(0, len(entries), _BATCH_SIZE):
                lines = [
                    json.dumps(entry, separators=(",", ":")) for entry in entries[start : start + _BATCH_SIZE]
                ]
                _write_all(opened, "".join(f"{line}\n" for line in lines).encode())
            os.fsync(opened)
            new.rename(self._path)
        except OSError:
            os.close(opened)
            new.unlink(missing_ok=True)
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._pending = opened, []
        self.state.lines = len(entries)
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(directory)
        os.close(directory)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _apply_line(state: JournalState, line: bytes) -> None:
    """Apply a line. Ignores one that a crash truncated, because no agent was notified of it."""
    if not line.strip():
        return
    try:
        state.apply(json.loads(line))
    except (ValueError, KeyError):
        return


def recover(journal: Journal, boot: str) -> None:
    """Kill the containers that have not ended, and record them as lost."""
    open_runs = [run for run in journal.state.runs.values() if not run.is_over]
    if not open_runs:
        return
    processes = processes_of(open_runs, journal.state, boot)
    for run in open_runs:
        pids = processes.get(run.key.id, set())
        for pid in pids:
            _kill(pid)
        rebooted = journal.state.boots.get(run.key) != boot
        journal.write(ended_entry(lost_run(run, was_running=bool(pids), rebooted=rebooted, now=time.time())))
    journal.sync()


def processes_of(runs: list[Run], state: JournalState, boot: str) -> dict[str, set[int]]:
    """The pids of each container id: processes with its marker variable, and its init process."""
    ids = {run.key.id for run in runs}
    processes: dict[str, set[int]] = {}
    for pid, container_id in kernel.container_processes():
        if container_id in ids:
            processes.setdefault(container_id, set()).add(pid)
    for run in runs:
        ticks = state.start_ticks.get(run.key, 0)
        if run.pid and ticks and state.boots.get(run.key) == boot and kernel.start_ticks(run.pid) == ticks:
            processes.setdefault(run.key.id, set()).add(run.pid)
    return processes


def lost_run(run: Run, *, was_running: bool, rebooted: bool, now: float) -> Run:
    """The record of a run whose end was not observed."""
    if rebooted:
        reason, message = REBOOTED, "the machine restarted while the container was running"
    else:
        reason = SUPERVISOR_LOST
        end = "the container was killed" if was_running else "the container's processes ended with it"
        message = f"the supervisor died while the container was running; {end} and its exit code is unknown"
    return replace(run, state="lost", code=LOST_EXIT_CODE, finished_at=now, reason=reason, message=message)


def _kill(pid: int) -> None:
    """Kill a process, its descendants and their process groups. Waits up to KILL_SECONDS for its end."""
    for descendant in (*kernel.descendants(pid), pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(descendant) == descendant:
                os.killpg(descendant, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(descendant, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while kernel.is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
