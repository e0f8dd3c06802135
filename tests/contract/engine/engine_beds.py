"""Where the engine is proven: a laptop, a real API server with a fake kubelet, and a whole real cluster.

Each bed runs the shipped processes and is met through its API server alone. `executions` is how often the work itself
ran, told by whatever cannot be fooled there: a file that each program writes to, or the containers that a node started.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Protocol

import yaml

from contract.engine.engine_api import Api
from contract.engine.existing_server import ExistingServer
from contract.engine.kubelet_thread import KubeletThread
from contract.engine.pod_ledger import PodLedger
from e2e.node_agent_process import AgentProcess
from support.api_servers import CONTROLLERS, ApiServer, EmbeddedApiServer, RealApiServer, wait_for
from support.child_processes import Child
from support.envtest import missing_parts

ROOT = Path(__file__).parents[3]
CRDS = ROOT / "charts" / "agents" / "crds"
CLUSTER = ROOT / "scripts" / "cluster" / "cluster"
JANGAR = Path(sys.executable).with_name("jangar")
QUICK_LEASE = {
    "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS": "5",
    "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS": "4",
    "JANGAR_LEADER_ELECTION_RETRY_PERIOD_SECONDS": "1",
}
"""A killed holder is waited for; half a minute of it would prove nothing more."""
JOB_CONTROLLERS = ("job-controller", "ttl-after-finished-controller", "pod-garbage-collector-controller")


class Bed(Protocol):
    """What a test may know of where it runs."""

    name: str
    patience: float
    """How many seconds a short program may take from request to recorded outcome."""

    @property
    def server(self) -> ApiServer: ...

    def start(self) -> None: ...

    def start_controllers(self) -> None: ...

    def kill_controllers(self) -> None:
        """As a crash does: no signal that it could answer to."""

    def ledger(self, namespace: str) -> str:
        """The file that programs of this namespace add a line to; empty where they cannot reach one."""

    def executions(self, namespace: str) -> Counter[str]:
        """How often the work of each mark ran."""

    def last_words(self) -> str: ...

    def stop(self) -> None: ...


class _Processes:
    """The directory of a bed, its controllers, and the files its programs write to."""

    name = ""
    patience = 20.0

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=f"jangar-{self.name}-"))
        # Programs run as another user: they may go through here and write to their file.
        self.directory.chmod(0o711)
        self._server: ApiServer | None = None
        self._controllers: Child | None = None

    @property
    def server(self) -> ApiServer:
        assert self._server is not None, "the bed was not started"
        return self._server

    def start_controllers(self) -> None:
        command = [JANGAR, "controllers", "--kubeconfig", self.server.kubeconfig, "-n", "*"]
        command += ["--data-dir", self.directory / "controllers"]
        self._controllers = Child("controllers", command, self.directory, env=QUICK_LEASE)

    def kill_controllers(self) -> None:
        if self._controllers is not None:
            self._controllers.stop(first=signal.SIGKILL)

    def ledger(self, namespace: str) -> str:
        path = self.directory / f"{namespace}.ledger"
        path.touch()
        path.chmod(0o666)
        return str(path)

    def executions(self, namespace: str) -> Counter[str]:
        return Counter(Path(self.ledger(namespace)).read_text().split())

    def last_words(self) -> str:
        return self._controllers.last_words() if self._controllers is not None else ""

    def stop(self) -> None:
        self.kill_controllers()
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class LaptopBed(_Processes):
    """The embedded server, the node agent and the controllers, each a process."""

    name = "laptop"
    _agent: AgentProcess | None = None

    def start(self) -> None:
        server = EmbeddedApiServer()
        self._server = server
        install_kinds(server)
        self._agent = AgentProcess(self.directory, server.directory / "data", server.kubeconfig).start()
        self.start_controllers()

    def stop(self) -> None:
        if self._agent is not None:
            self._agent.kill()
            self._agent.end_containers()
        super().stop()


class ApiServerBed(_Processes):
    """A real API server with real controllers of Jobs; pods are processes of this machine."""

    name = "apiserver"
    kubelet: KubeletThread | None = None

    def start(self) -> None:
        server = RealApiServer()
        self._server = server
        install_kinds(server)
        server.start_controllers((*CONTROLLERS, *JOB_CONTROLLERS))
        self.kubelet = KubeletThread(server.kubeconfig)
        self.start_controllers()

    def stop(self) -> None:
        if self.kubelet is not None:
            self.kubelet.stop()
        super().stop()


class ClusterBed(_Processes):
    """A whole real cluster: the one of `make cluster` if it runs, else one of its own."""

    name = "cluster"
    patience = 60.0
    _pods: PodLedger | None = None
    _state: Path | None = None

    def start(self) -> None:
        self._lock = (Path(tempfile.gettempdir()) / "jangar-cluster-bed.lock").open("w")
        flock(self._lock, LOCK_EX)  # a machine has one cluster, and a cluster one bed at a time
        if _cluster("status").returncode != 0:
            self._state = Path(tempfile.mkdtemp(prefix="jangar-cluster-"))
            started = _cluster("start", self._state)
            assert started.returncode == 0, started.stdout + started.stderr
        where = Path(_cluster("where", self._state).stdout.strip())
        self._server = ExistingServer("cluster", where / "admin.kubeconfig")
        install_kinds(self._server)
        self._pods = PodLedger(self._server.client())
        self.start_controllers()

    def ledger(self, namespace: str) -> str:
        return ""

    def executions(self, namespace: str) -> Counter[str]:
        assert self._pods is not None, "the bed was not started"
        return self._pods.executions(namespace)

    def stop(self) -> None:
        if self._pods is not None:
            self._pods.stop()
        super().stop()
        if self._state is not None:
            _cluster("stop", self._state)
        self._lock.close()


BEDS: dict[str, type[_Processes]] = {each.name: each for each in (LaptopBed, ApiServerBed, ClusterBed)}


def why_not(name: str) -> str | None:
    """What keeps a bed from running on this machine; None when nothing does."""
    match name:
        case "apiserver" if missing := missing_parts():
            return f"no {', '.join(missing)} (make envtest)"
        case "cluster" if (asked := _cluster("missing")).returncode != 0:
            return "; ".join(asked.stdout.split("\n")).strip("; ")
    return None


def install_kinds(server: ApiServer) -> None:
    """The product's CRDs, served."""
    client = server.client()
    api = Api(client)
    manifests = [yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))]
    for manifest in manifests:
        api.apply(manifest)
    for manifest in manifests:
        name = manifest["metadata"]["name"]
        wait_for(lambda name=name: _is_served(api, name), what=f"that {name} is served")
    client.close()


def await_default_account(api: Api) -> None:
    """Pods are refused in a namespace that has none yet."""
    wait_for(lambda: api.find("ServiceAccount", "default"), what="the default service account")


def _is_served(api: Api, name: str) -> bool:
    conditions = (api.get("CustomResourceDefinition", name).get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _cluster(verb: str, state: Path | None = None) -> subprocess.CompletedProcess[str]:
    chosen = {} if state is None else {"JANGAR_CLUSTER_STATE": str(state)}
    return subprocess.run(
        [CLUSTER, verb],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **chosen},
    )


def settle(seconds: float) -> None:
    """For what must *not* happen there is nothing to wait for but time."""
    time.sleep(seconds)
