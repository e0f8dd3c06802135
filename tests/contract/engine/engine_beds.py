"""The environments in which the engine is tested: a laptop, a real API server with a fake kubelet, and a real
cluster.

Each bed runs the shipped processes and is used only through its API server. `executions` counts how often the work
itself ran, from a source that does not depend on the API: a file that each program appends to, or the containers that
a node started.
"""

import io
import json
import shutil
import signal
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
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
from support.runner_availability import why_no_runner
from support.whole_cluster import WholeCluster, why_no_cluster

ROOT = Path(__file__).parents[3]
CRDS = ROOT / "charts" / "agents" / "crds"
PRODUCT_IMAGE = ROOT / "dist" / "jangar-image.tar"
JANGAR = Path(sys.executable).with_name("jangar")
QUICK_LEASE = {
    "JANGAR_LEADER_ELECTION_LEASE_DURATION_SECONDS": "5",
    "JANGAR_LEADER_ELECTION_RENEW_DEADLINE_SECONDS": "4",
    "JANGAR_LEADER_ELECTION_RETRY_PERIOD_SECONDS": "1",
}
"""Tests wait for the lease of a killed holder; half a minute would prove nothing more."""
OWN_HOSTS = {"JANGAR_AGENTS_CONTROLLER_PROVIDER_HOSTS_ALLOWED": "127.0.0.1"}
"""The repository hosts of the tests."""
JOB_CONTROLLERS = ("job-controller", "ttl-after-finished-controller", "pod-garbage-collector-controller")


class NoImage(Exception):
    """Why containers of a bed do not have the product."""


class Bed(Protocol):
    """What a test may know of its environment."""

    name: str
    patience: float
    """Maximum seconds for a short program from request to recorded outcome."""

    @property
    def server(self) -> ApiServer: ...

    def start(self) -> None: ...

    def start_controllers(self) -> None: ...

    def kill_controllers(self) -> None:
        """Like a crash: with SIGKILL."""

    def ledger(self, namespace: str) -> str:
        """The file that programs of this namespace append to; empty if they cannot reach one."""

    def executions(self, namespace: str) -> Counter[str]:
        """The number of executions of each marked program."""

    def agent_image(self) -> str:
        """An image that contains the product. Raises NoImage."""

    def last_output(self) -> str: ...

    def stop(self) -> None: ...


class _Processes:
    """The directory of a bed, its controllers, and the files its programs write to."""

    name = ""
    patience = 20.0
    settings: Mapping[str, str] = {}
    """Additional environment variables of its controllers."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=f"jangar-{self.name}-"))
        # Programs run as another user: they need to traverse the directory and write to their file.
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
        self._controllers = Child(
            "controllers", command, self.directory, env=QUICK_LEASE | OWN_HOSTS | self.settings
        )

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

    def agent_image(self) -> str:
        raise NoImage("pods of this bed have no image of the product")

    def last_output(self) -> str:
        return self._controllers.last_output() if self._controllers is not None else ""

    def stop(self) -> None:
        self.kill_controllers()
        if self._server is not None:
            self._server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)


class LaptopBed(_Processes):
    """The embedded server, the node agent and the controllers, each in its own process."""

    name = "laptop"
    _agent: AgentProcess | None = None

    def start(self) -> None:
        server = EmbeddedApiServer()
        self._server = server
        install_kinds(server)
        self._agent = AgentProcess(self.directory, server.directory / "data", server.kubeconfig).start()
        self.start_controllers()

    def agent_image(self) -> str:
        if (obstacle := why_no_runner()) is not None:
            raise NoImage(obstacle)
        return "jangar"

    def stop(self) -> None:
        if self._agent is not None:
            self._agent.kill()
            self._agent.end_containers()
        super().stop()


class ApiServerBed(_Processes):
    """A real API server with real Job controllers; pods are processes of this machine."""

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
    """A real cluster: the one of `make cluster` if it runs, else a new one."""

    name = "cluster"
    patience = 60.0
    _pods: PodLedger | None = None
    _cluster: WholeCluster | None = None
    _has_image = False

    def start(self) -> None:
        self._cluster = WholeCluster()
        self._server = ExistingServer("cluster", self._cluster.kubeconfig)
        install_kinds(self._server)
        self._pods = PodLedger(self._server.client())
        if PRODUCT_IMAGE.exists():
            self.settings = {"JANGAR_AGENT_RUNNER_IMAGE": _name_of(PRODUCT_IMAGE)}
        self.start_controllers()

    def agent_image(self) -> str:
        if not PRODUCT_IMAGE.exists():
            raise NoImage(f"no {PRODUCT_IMAGE.relative_to(ROOT)} (make image)")
        image = _name_of(PRODUCT_IMAGE)
        if not self._has_image:
            assert self._cluster is not None
            self._cluster.images("import", PRODUCT_IMAGE)
            self._has_image = True
        return image

    def ledger(self, namespace: str) -> str:
        return ""

    def executions(self, namespace: str) -> Counter[str]:
        assert self._pods is not None, "the bed was not started"
        return self._pods.executions(namespace)

    def stop(self) -> None:
        if self._pods is not None:
            self._pods.stop()
        super().stop()
        if self._cluster is not None:
            self._cluster.stop()


BEDS: dict[str, type[_Processes]] = {item.name: item for item in (LaptopBed, ApiServerBed, ClusterBed)}


def why_not(name: str) -> str | None:
    """Why a bed cannot run on this machine; None if it can."""
    match name:
        case "apiserver" if missing := missing_parts():
            return f"no {', '.join(missing)} (make envtest)"
        case "cluster":
            return why_no_cluster()
    return None


def install_kinds(server: ApiServer) -> None:
    """Install the product's CRDs and wait until they are served."""
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
    """Wait for the default account: without it pods are rejected."""
    wait_for(lambda: api.find("ServiceAccount", "default"), what="the default service account")


def _is_served(api: Api, name: str) -> bool:
    conditions = (api.get("CustomResourceDefinition", name).get("status") or {}).get("conditions") or ()
    return any(
        condition["type"] == "Established" and condition["status"] == "True" for condition in conditions
    )


def _name_of(image: Path) -> str:
    with tarfile.open(image) as tar:
        index = json.load(tar.extractfile("index.json") or io.BytesIO(b"{}"))
    return str(index["manifests"][0]["annotations"]["io.containerd.image.name"])


def settle(seconds: float) -> None:
    """Wait: nothing signals that an event will not happen."""
    time.sleep(seconds)
