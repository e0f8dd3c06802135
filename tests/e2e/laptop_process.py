"""`jangar up` in its own directory, and the commands that use it, as a user types them."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import yaml

from support.container_processes import container_processes

JANGAR = str(Path(sys.executable).with_name("jangar"))
TOOL_RUN_SECONDS = 60


class LaptopProcess:
    """One home directory with everything that the test creates."""

    def __init__(self, home: Path, *user: str) -> None:
        """`user` is the command prefix that runs every `jangar` as another user."""
        self.home = home
        self.command = (*user, JANGAR)
        self.data = home / ".local" / "share" / "jangar"
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in {"PYTHONDONTWRITEBYTECODE", "KUBECONFIG", "XDG_DATA_HOME"}
            and not name.startswith("JANGAR_")
        }
        self.environment = kept | {"HOME": str(home)}
        self.prefix: tuple[str, ...] = ()
        """Command prefix that starts the process, if any."""
        self.up: subprocess.Popen | None = None

    def jangar(self, *words, stdin="", **environment):
        return subprocess.run(
            [*self.command, *map(str, words)],
            input=stdin,
            env=self.environment | environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def done(self, *words, stdin="", **environment) -> str:
        """The output of a command that must succeed."""
        ran = self.jangar(*words, stdin=stdin, **environment)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def start(self, *options) -> None:
        """Start in the foreground and wait until it reports that it is up."""
        self._output = self.home / "up.out"
        with self._output.open("w") as output:
            self.up = subprocess.Popen(
                [*self.prefix, *self.command, "up", *options],
                env=self.environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.until(
            lambda: self.up.poll() is not None or "is up: https://127.0.0.1:" in self._output.read_text()
        )
        assert self.up.poll() is None, self._output.read_text()

    def stop(self, how=signal.SIGTERM) -> str:
        """Stop it; return all of its output."""
        self.up.send_signal(how)
        self.up.wait(timeout=90)
        return self._output.read_text()

    def apply(self, *objects) -> None:
        self.done("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def run(self, name: str) -> dict:
        return json.loads(self.done("get", "run", name, "-o", "json"))

    def phase(self, name: str) -> str:
        return (self.run(name).get("status") or {}).get("phase", "Pending")

    def until(self, holds, *, seconds=TOOL_RUN_SECONDS):
        """Wait for a condition; the CLI calls are the slow part."""
        deadline = time.monotonic() + seconds
        while not (result := holds()):
            assert time.monotonic() < deadline, "it never came to that"
            time.sleep(0.05)
        return result

    def end(self) -> None:
        """End all of its processes, whatever the test did."""
        if self.up is not None and self.up.poll() is None:
            self.up.kill()
            self.up.wait(timeout=10)
        with suppress(OSError, ValueError):
            known = json.loads((self.data / "laptop.json").read_text())
            if known["pid"] != getattr(self.up, "pid", 0):
                os.kill(known["pid"], signal.SIGKILL)
        for pid in container_processes(self.data / "supervisor"):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while (self.data / "supervisor" / "socket").exists() and time.monotonic() < deadline:
            time.sleep(0.05)


def tool(name: str, script: str) -> dict:
    """Kubernetes reads `$$` in a command as an escaped `$`."""
    return {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "Tool",
        "metadata": {"name": name},
        "spec": {"image": "any", "command": ["sh", "-c", script.replace("$$", "$$$$")]},
    }


def step(name: str, used: str, *after: str) -> dict:
    return {"name": name, "kind": "ToolRun", "toolRef": {"name": used}, "dependsOn": list(after)}


def run(name: str, *steps: dict, **labels: str) -> dict:
    return {
        "apiVersion": "orchestration.proompteng.ai/v1alpha1",
        "kind": "OrchestrationRun",
        "metadata": {"name": name, "labels": labels},
        "spec": {"orchestration": {"steps": list(steps)}},
    }
