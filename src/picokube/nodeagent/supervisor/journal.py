"""The durable memory of the supervisor: one line a fact, appended before anybody is told.

Where the disk is full, facts are held in memory, in their order, and written when there is room again.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from picokube.nodeagent.supervisor.orders import Run, RunKey

MOST_DEAD_LINES = 20_000
_FACTS_AT_ONCE = 1000


@dataclass(slots=True)
class Memory:
    """What the lines say, taken together."""

    runs: dict[RunKey, Run] = field(default_factory=dict)
    boots: dict[RunKey, str] = field(default_factory=dict)
    births: dict[RunKey, int] = field(default_factory=dict)
    """When the process started, in the kernel's ticks: with the pid it is one process and no other."""
    lines: int = 0

    def take(self, fact: dict[str, Any]) -> None:
        self.lines += 1
        if fact["fact"] == "forgotten":
            for key in [key for key in self.runs if key.pod == fact["pod"]]:
                self._drop(key)
            return
        key = RunKey(*fact["key"])
        match fact["fact"]:
            case "intended":
                self.runs[key] = Run(key=key, started_at=fact["at"])
                self.boots[key] = fact["boot"]
            case "withdrawn":
                self._drop(key)
            case "started":
                self.births[key] = fact["birth"]
                self.runs[key] = replace(
                    self.runs[key], state="running", pid=fact["pid"], started_at=fact["at"]
                )
            case "ended" | "lost" as state:
                self.runs[key] = replace(
                    self.runs[key],
                    state=state,
                    code=fact["code"],
                    finished_at=fact["at"],
                    reason=fact["reason"],
                    message=fact["message"],
                )

    def _drop(self, key: RunKey) -> None:
        del self.runs[key]
        self.boots.pop(key, None)
        self.births.pop(key, None)

    def facts(self) -> Iterable[dict[str, Any]]:
        """As few as say the same."""
        for key, run in self.runs.items():
            yield intended(key, self.boots.get(key, ""), run.started_at)
            if run.pid:
                yield started(key, run.pid, self.births.get(key, 0), run.started_at)
            if run.is_over:
                yield over(run)


def intended(key: RunKey, boot: str, at: float) -> dict[str, Any]:
    return {"fact": "intended", "key": list(key), "boot": boot, "at": at}


def started(key: RunKey, pid: int, birth: int, at: float) -> dict[str, Any]:
    return {"fact": "started", "key": list(key), "pid": pid, "birth": birth, "at": at}


def over(run: Run) -> dict[str, Any]:
    return {
        "fact": run.state,
        "key": list(run.key),
        "code": run.code,
        "at": run.finished_at,
        "reason": run.reason,
        "message": run.message,
    }


def withdrawn(key: RunKey) -> dict[str, Any]:
    """It was intended, nothing of it ran, and it may be asked for again."""
    return {"fact": "withdrawn", "key": list(key)}


def forgotten(pod: str) -> dict[str, Any]:
    return {"fact": "forgotten", "pod": pod}


class Journal:
    """Appends facts; what `sync` has returned from survives a crash of the machine."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where not even an empty file can be made."""
        self._path = path
        self.memory = Memory()
        self._held: list[bytes] = []
        self._needs_sync = False
        if path.exists():
            for line in path.read_bytes().split(b"\n"):
                _take(self.memory, line)
        self._file = -1
        with suppress(OSError):
            self._rewrite()
        if self._file < 0:
            # A full disk: the records of before stay as they are, and new ones follow them.
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._held.append(b"\n")

    @property
    def is_behind(self) -> bool:
        """Whether facts are held that are not on disk."""
        return bool(self._held) or self._needs_sync

    def write(self, fact: dict[str, Any]) -> None:
        """Never fails: what cannot be written is held."""
        self.memory.take(fact)
        self._held.append(json.dumps(fact, separators=(",", ":")).encode() + b"\n")
        self.flush()

    def attempt(self, facts: Sequence[dict[str, Any]]) -> bool:
        """Write facts durably, all or none; whether it could be done."""
        if not self.flush():
            return False
        lines = b"".join(json.dumps(fact, separators=(",", ":")).encode() + b"\n" for fact in facts)
        try:
            self._append(lines)
            os.fdatasync(self._file)
        except OSError:
            return False
        self._needs_sync = False
        for fact in facts:
            self.memory.take(fact)
        return True

    def flush(self) -> bool:
        """Write what is held; whether nothing is left."""
        if not self._held:
            return True
        data = b"".join(self._held)
        try:
            self._append(data)
        except OSError:
            self._held = [data]
            return False
        self._held = []
        return True

    def _append(self, data: bytes) -> None:
        """All of it or nothing: half a line would swallow the next one."""
        size = os.fstat(self._file).st_size
        try:
            _write_all(self._file, data)
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def sync(self) -> bool:
        """Whether everything that was written is durable."""
        self._needs_sync = True
        if not self.flush():
            return False
        try:
            os.fdatasync(self._file)
        except OSError:
            return False
        self._needs_sync = False
        return True

    def shorten(self) -> None:
        """Drop what was forgotten, once it is worth it."""
        if self.memory.lines > MOST_DEAD_LINES + 4 * len(self.memory.runs):
            with suppress(OSError):
                self._rewrite()

    def _rewrite(self) -> None:
        """Beside its place first: where that fails, the file of before goes on."""
        new = self._path.with_suffix(".new")
        facts = list(self.memory.facts())
        opened = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            for start in range(0, len(facts), _FACTS_AT_ONCE):
                lines = [
                    json.dumps(fact, separators=(",", ":")) for fact in facts[start : start + _FACTS_AT_ONCE]
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
        self._file, self._held = opened, []
        self.memory.lines = len(facts)
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(directory)
        os.close(directory)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _take(memory: Memory, line: bytes) -> None:
    """A line that a crash cut short was told to nobody."""
    if not line.strip():
        return
    try:
        memory.take(json.loads(line))
    except (ValueError, KeyError):
        return
