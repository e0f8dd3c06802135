"""A real PostgreSQL in a temporary directory, started and stopped by tests, as a user who is not root."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from support.child_processes import Child, free_port

USER = "postgres"
START_SECONDS = 60.0
LOCATIONS = "/usr/lib/postgresql"


def binaries() -> Path | None:
    """Where the server's programs are; Debian keeps them off the path."""
    candidates = sorted(Path(LOCATIONS).glob("*/bin/initdb"), key=lambda item: int(item.parts[-3]))
    if candidates:
        return candidates[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def why_no_postgres() -> str | None:
    """Why it cannot run on this machine; None if it can."""
    if binaries() is None:
        return "no PostgreSQL server (Debian package postgresql)"
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            return f"no user {USER} for PostgreSQL to run as"
    return None


class PostgresServer:
    """One server on a loopback port; its data survives `kill` and `start`."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="jangar-pg-"))
        self.port = free_port()
        self._as = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] * (os.geteuid() == 0)
        if self._as:
            shutil.chown(self.directory, USER, USER)
        where = binaries()
        assert where is not None, "ask why_no_postgres first"
        self._programs = where
        self._process: Child | None = None
        self._run("initdb", "-D", self._data, "-U", "jangar", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://jangar@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        command = [*self._as, self._programs / "postgres", "-D", self._data, "-p", self.port]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.directory}"]
        self._process = Child("postgres", [str(item) for item in command], self.directory)
        self._process.wait_until(self._answers, seconds=START_SECONDS)

    def kill(self) -> None:
        """Stop immediately: clients lose their connections, committed data stays."""
        if self._process is not None:
            self._process.stop(first=signal.SIGQUIT)

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement."""
        done = self._run(
            "psql", "-h", "127.0.0.1", "-p", self.port, "-U", "jangar", "-d", database, "-Atc", statement
        )
        return done.stdout.strip()

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _answers(self) -> bool:
        time.sleep(0.05)
        result = subprocess.run(
            [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], check=False
        )
        return result.returncode == 0

    def _run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        words = [*self._as, str(self._programs / program), *(str(argument) for argument in arguments)]
        return subprocess.run(words, check=True, capture_output=True, text=True, cwd=self.directory)
