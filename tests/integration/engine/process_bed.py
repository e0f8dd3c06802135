"""Bed P: the shipped processes on loopback: API server, node agent, and any number of controllers, each behind a
proxy.

Work counts itself: each program adds a line to a file, which survives every kill.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import yaml

from contract.engine.engine_api import Api
from contract.engine.engine_beds import install_kinds
from e2e.node_agent_process import AgentProcess
from integration.engine.fault_proxy import FaultProxy
from support.api_servers import _is_up, wait_for
from support.child_processes import Child, free_port
from support.kube_http import HttpClient

JANGAR = Path(sys.executable).with_name("jangar")
START = 60.0
QUICK_LEASE = {
    "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS": "5",
    "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS": "4",
    "JANGAR_LEADER_ELECTION_RETRY_PERIOD_SECONDS": "1",
    "JANGAR_CONTROLLER_SHARDS": "1",
}
ALONE = {"JANGAR_LEADER_ELECTION_ENABLED": "false"}


class ProcessServer:
    """`jangar apiserver` on one port and one directory, to be killed and restarted."""

    name = "embedded"
    token = ""
    ca: Path | None = None

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._child: Child | None = None

    def start(self) -> "ProcessServer":
        command = [JANGAR, "apiserver", "--data-dir", self.directory / "data", "--port", str(self._port)]
        self._child = Child(
            "apiserver", [*command, "--kubeconfig", self.kubeconfig, "--plain-http"], self.directory
        )
        self._child.wait_until(self._is_up, seconds=START)
        return self

    def client(self, *, token: str | None = None) -> HttpClient:
        return HttpClient(url=self.url, token=token or "")

    def kill(self) -> None:
        if self._child is not None:
            self._child.stop(first=signal.SIGKILL)

    def _is_up(self) -> bool:
        return _is_up(self.client(), "/readyz")


class Upstream(Protocol):
    """Connection data of the API server for the process behind the proxy."""

    url: str
    ca: Path | None
    kubeconfig: Path


class ControllersProcess:
    """`jangar controllers` behind its own proxy."""

    def __init__(
        self, name: str, server: "Upstream", directory: Path, lease: dict[str, str], seed: int
    ) -> None:
        self.name = name
        self.proxy = FaultProxy(server.url, seed=seed, ca=server.ca).start()
        self._directory, self._lease = directory, lease
        config = yaml.safe_load(server.kubeconfig.read_text())
        for cluster in config["clusters"]:
            cluster["cluster"]["server"] = self.proxy.url
        self._kubeconfig = directory / f"{name}.kubeconfig"
        self._kubeconfig.write_text(json.dumps(config))
        self._child: Child | None = None

    def start(self) -> "ControllersProcess":
        command = [JANGAR, "controllers", "--kubeconfig", self._kubeconfig, "-n", "*"]
        command += ["--data-dir", self._directory / f"{self.name}-data"]
        self._child = Child(
            self.name, command, self._directory, env={"JANGAR_HEALTH_ADDRESS": "", **self._lease}
        )
        return self

    def kill(self) -> None:
        if self._child is not None:
            self._child.stop(first=signal.SIGKILL)

    def pause(self) -> None:
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGSTOP)

    def resume(self) -> None:
        assert self._child is not None
        os.kill(self._child.pid, signal.SIGCONT)

    def stop(self) -> None:
        self.kill()
        self.proxy.stop()

    def last_output(self) -> str:
        return self._child.last_output(10) if self._child is not None else ""


class ProcessBed:
    """All parts except the controllers."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="jangar-process-bed-"))
        # Programs may run as another user: they traverse the directory and write to their file.
        self.directory.chmod(0o711)
        self.server = ProcessServer(self.directory).start()
        install_kinds(self.server)
        self._agent = AgentProcess(self.directory, self.directory / "data", self.server.kubeconfig).start()
        self._controllers: list[ControllersProcess] = []
        self._clients: list[HttpClient] = []

    def controllers(self, name: str, lease: dict[str, str], *, seed: int = 0) -> ControllersProcess:
        made = ControllersProcess(name, self.server, self.directory, lease, seed)
        self._controllers.append(made)
        return made.start()

    def client(self) -> HttpClient:
        """Closed with the trial."""
        self._clients.append(self.server.client())
        return self._clients[-1]

    def end_trial(self) -> None:
        for controller in self._controllers:
            controller.stop()
        for client in self._clients:
            client.close()
        self._controllers.clear()
        self._clients.clear()

    def stop(self) -> None:
        self.end_trial()
        self._agent.kill()
        self._agent.end_containers()
        self.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Trial:
    """A namespace with one tool, and the file that its work writes to."""

    def __init__(self, bed: ProcessBed, namespace: str) -> None:
        self.api = Api(bed.client(), namespace)
        self.api.create("Namespace", namespace)
        self.ledger = bed.directory / f"{namespace}.ledger"
        self.ledger.touch()
        self.ledger.chmod(0o666)
        script = f"echo {{{{ parameters.mark }}}} >> {self.ledger}; {{{{ parameters.then }}}}"
        self.api.create("Tool", "work", {"image": "none", "command": ["sh", "-c", script]})

    def run(self, name: str, *steps: dict[str, Any]) -> None:
        for item in steps:
            item["with"]["mark"] = f"{name}-{item['name']}"
        self.api.create("Orchestration", name, {"steps": list(steps)})
        self.api.create("OrchestrationRun", name, {"orchestrationRef": {"name": name}})

    def status(self, name: str) -> dict[str, Any]:
        return self.api.get("OrchestrationRun", name).get("status") or {}

    def step(self, run: str, name: str) -> dict[str, Any]:
        steps = self.status(run).get("stepStatuses") or ()
        return next((item for item in steps if item["name"] == name), {})

    def await_end(self, *names: str, seconds: float = 120) -> None:
        ended = ("Succeeded", "Failed", "Cancelled")
        for name in names:
            wait_for(
                lambda name=name: self.status(name).get("phase") in ended,
                seconds=seconds,
                what=f"the end of run {name}",
            )

    def end_of(self, name: str) -> tuple[str, dict[str, tuple[str, int]]]:
        status = self.status(name)
        steps = status.get("stepStatuses") or ()
        return status["phase"], {item["name"]: (item["phase"], item.get("attempt", 0)) for item in steps}

    def executions(self) -> Counter[str]:
        return Counter(self.ledger.read_text().split())

    def held(self) -> list[str]:
        """Jobs and pods that still have our finalizer."""
        return [
            f"{kind} {item['metadata']['name']}"
            for kind in ("Job", "Pod")
            for item in self.api.all(kind)
            if any("jangar.proompteng.ai" in held for held in item["metadata"].get("finalizers") or ())
        ]


def step(name: str, *needs: str, then: str = "sleep 0.2", **more: Any) -> dict[str, Any]:
    """A step that marks the file and then runs the script."""
    return {
        "name": name,
        "kind": "ToolRun",
        "toolRef": {"name": "work"},
        "dependsOn": list(needs),
        "with": {"then": then},
        **more,
    }
