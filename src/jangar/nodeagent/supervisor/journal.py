"""The durable memory of the supervisor: one line a fact, appended before anybody is told."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jangar.nodeagent.supervisor.orders import Run, RunKey

MOST_DEAD_LINES = 20_000


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
                del self.runs[key]
                self.boots.pop(key, None)
                self.births.pop(key, None)
            return
        key = RunKey(*fact["key"])
        match fact["fact"]:
            case "intended":
                self.runs[key] = Run(key=key, started_at=fact["at"])
                self.boots[key] = fact["boot"]
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


def forgotten(pod: str) -> dict[str, Any]:
    return {"fact": "forgotten", "pod": pod}


class Journal:
    """Appends facts; what `sync` has returned from survives a crash of the machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.memory = Memory()
        if path.exists():
            for line in path.read_bytes().split(b"\n"):
                _take(self.memory, line)
        self._rewrite()

    def write(self, fact: dict[str, Any]) -> None:
        self.memory.take(fact)
        os.write(self._file, json.dumps(fact, separators=(",", ":")).encode() + b"\n")

    def sync(self) -> None:
        os.fdatasync(self._file)

    def shorten(self) -> None:
        """Drop what was forgotten, once it is worth it."""
        if self.memory.lines > MOST_DEAD_LINES + 4 * len(self.memory.runs):
            os.close(self._file)
            self._rewrite()

    def _rewrite(self) -> None:
        new = self._path.with_suffix(".new")
        facts = list(self.memory.facts())
        with new.open("wb") as file:
            file.writelines(json.dumps(fact, separators=(",", ":")).encode() + b"\n" for fact in facts)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._path)
        directory = os.open(self._path.parent, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        self.memory.lines = len(facts)
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)


def _take(memory: Memory, line: bytes) -> None:
    """A line that a crash cut short was told to nobody."""
    if not line.strip():
        return
    try:
        memory.take(json.loads(line))
    except (ValueError, KeyError):
        return
