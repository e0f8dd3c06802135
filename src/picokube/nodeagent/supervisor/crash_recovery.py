"""Kills containers that were running when the previous supervisor died, and records them as lost."""

import contextlib
import os
import signal
import time
from dataclasses import replace

from picokube.nodeagent.supervisor import kernel
from picokube.nodeagent.supervisor.journal import Journal, JournalState, ended_entry
from picokube.nodeagent.supervisor.protocol import Run

REBOOTED, SUPERVISOR_LOST = "NodeRebooted", "SupervisorLost"
LOST_EXIT_CODE = 137
KILL_SECONDS = 1.0


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
