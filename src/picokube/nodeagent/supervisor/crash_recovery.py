"""Containers that ran when the last supervisor ended: none may go on unseen, none may be started again."""

import contextlib
import os
import signal
import time
from dataclasses import replace

from picokube.nodeagent.supervisor import journal as facts
from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.journal import Journal, Memory
from picokube.nodeagent.supervisor.orders import Run

REBOOTED, LOST = "NodeRebooted", "SupervisorLost"
UNKNOWN_CODE = 137
KILL_SECONDS = 1.0


def settle(journal: Journal, boot: str) -> None:
    """End what is left, and record it as lost."""
    open_runs = [run for run in journal.memory.runs.values() if not run.is_over]
    if not open_runs:
        return
    found = processes_of(open_runs, journal.memory, boot)
    for run in open_runs:
        pids = found.get(run.key.id, set())
        for pid in pids:
            _kill(pid)
        rebooted = journal.memory.boots.get(run.key) != boot
        journal.write(facts.over(lost(run, was_running=bool(pids), rebooted=rebooted, now=time.time())))
    journal.sync()


def processes_of(runs: list[Run], memory: Memory, boot: str) -> dict[str, set[int]]:
    """By container id: processes that carry its mark, or that were started for it in this boot."""
    wanted = {run.key.id for run in runs}
    found: dict[str, set[int]] = {}
    for pid, owner in kernel.marked():
        if owner in wanted:
            found.setdefault(owner, set()).add(pid)
    for run in runs:
        born = memory.births.get(run.key, 0)
        if run.pid and born and memory.boots.get(run.key) == boot and kernel.birth(run.pid) == born:
            found.setdefault(run.key.id, set()).add(run.pid)
    return found


def lost(run: Run, *, was_running: bool, rebooted: bool, now: float) -> Run:
    """How a run is recorded whose end nobody saw."""
    if rebooted:
        reason, message = REBOOTED, "the machine was restarted while the container ran"
    else:
        reason = LOST
        end = "the container was killed" if was_running else "its processes ended with it"
        message = (
            f"the supervisor of containers died while the container ran; {end}, its exit code is not known"
        )
    return replace(run, state="lost", code=UNKNOWN_CODE, finished_at=now, reason=reason, message=message)


def _kill(pid: int) -> None:
    """It and everything below it, and its group if it leads one. Returns when it is gone, or after a second."""
    for each in (*kernel.descendants(pid), pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getpgid(each) == each:
                os.killpg(each, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while kernel.is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.005)
