"""`jangar node-agent` as a process that a test starts, kills and restarts on the directory of an API server."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from support.child_processes import Child
from support.container_processes import container_processes

JANGAR = Path(sys.executable).with_name("jangar")
START = 30.0


class AgentProcess:
    """One agent; its supervisor and containers are separate processes and outlive it."""

    def __init__(self, directory: Path, data: Path, kubeconfig: Path, *options: str) -> None:
        self._directory, self._data, self._kubeconfig, self._options = directory, data, kubeconfig, options
        self._child: Child | None = None

    def start(self) -> "AgentProcess":
        command = [
            JANGAR,
            "node-agent",
            "--kubeconfig",
            self._kubeconfig,
            "--data-dir",
            self._data,
            *self._options,
        ]
        # Containers of agents start `jangar runner`.
        path = {"PATH": f"{JANGAR.parent}{os.pathsep}{os.environ['PATH']}"}
        self._child = Child("node-agent", command, self._directory, env=path)
        return self

    @property
    def child(self) -> Child:
        assert self._child is not None, "the agent was not started"
        return self._child

    def kill(self) -> None:
        self.child.stop(first=signal.SIGKILL)

    def stop(self) -> None:
        self.child.stop()

    @property
    def log(self) -> str:
        return self.child.log.read_text(errors="replace")

    def kill_supervisor(self) -> None:
        """The process that holds this directory open; the init processes of containers are copies of it."""
        pids = set()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                if (
                    b"picokube.nodeagent.supervisor" in words
                    and str(self._data / "supervisor").encode() in words
                ):
                    pids.add(int(entry.name))
        for pid in pids:
            with suppress(OSError):
                parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                if parent not in pids:
                    os.kill(pid, signal.SIGKILL)

    def end_containers(self) -> None:
        """After the agent: kill its remaining containers and wait for the supervisor to exit."""
        deadline = time.monotonic() + 10
        for pid in self.container_processes():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        while (self._data / "supervisor" / "socket").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    def container_processes(self) -> list[int]:
        return container_processes(self._data / "supervisor")
