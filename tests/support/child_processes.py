"""Processes that a test starts: own log file, free loopback ports, ended by process id and within a deadline."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

GRACE = 10.0


class NeverReady(AssertionError):
    """A process ended or did not respond before the deadline."""


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _environment() -> dict[str, str]:
    """The current environment with bytecode caching as in an installation: otherwise every start compiles all code."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Child:
    """One process with its log in `directory/name.log`."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        directory: Path,
        *,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**_environment(), **(env or {})},
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def wait_until(self, ready: Callable[[], bool], *, seconds: float) -> None:
        """Poll every 10 ms until `ready`; fail at the deadline or when the process ends."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.has_ended:
                raise NeverReady(f"{self.name} ended with {self._process.returncode}:\n{self.last_output()}")
            if time.monotonic() > deadline:
                raise NeverReady(f"{self.name} was not ready after {seconds:.0f} s:\n{self.last_output()}")
            time.sleep(0.01)

    def last_output(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self, *, first: signal.Signals = signal.SIGTERM) -> None:
        """Send SIGTERM, wait, send SIGKILL. Only to this process."""
        if self.has_ended:
            return
        self._process.send_signal(first)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(GRACE)
