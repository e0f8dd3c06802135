"""API servers that tests start: a real one (etcd, kube-apiserver, controllers on demand) and ours, with one
interface.

Loopback only, free ports, a new certificate authority. Processes are ended by their ids; the directory is kept if a
server did not start, so that its logs can be read.
"""

import base64
import json
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from signal import SIGKILL
from typing import Any, Protocol

import yaml

from support.certificates import make_authority
from support.child_processes import Child, free_port
from support.envtest import assets
from support.kube_http import HttpClient

START = 90.0
ADMIN = "admin"
PLAIN_USERS = ("alice", "bob")
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
)
"""Functions that our server has and a real API server needs controllers for: namespace deletion, garbage collection,
default accounts, aggregated ClusterRoles.
"""


class ApiServer(Protocol):
    """The parts of an API server that tests may use."""

    name: str
    url: str
    token: str
    ca: Path | None
    kubeconfig: Path

    def client(self, *, token: str | None = None) -> HttpClient: ...

    def start_controllers(self, controllers: Sequence[str] = CONTROLLERS) -> None:
        """Called when the kinds of the test are installed. Does nothing if the server has these functions itself."""

    def forget_history(self) -> None:
        """Compact: all earlier revisions expire."""

    def last_output(self, *, seconds: float = 0) -> str | None:
        """The last output of a process of this server that ended unexpectedly; None while all run."""

    def stop(self) -> None: ...


class _Bed:
    """A directory and the processes in it, started one after another and stopped in reverse order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.directory = Path(tempfile.mkdtemp(prefix=f"jangar-{name}-"))
        self._children: list[Child] = []

    def run(self, name: str, *command: str | Path) -> Child:
        child = Child(name, command, self.directory)
        self._children.append(child)
        return child

    def last_output(self, *, seconds: float = 0) -> str | None:
        """The last output of the first process that ended by itself within `seconds`; None while all run."""
        deadline = time.monotonic() + seconds
        while (
            not (ended := [child for child in self._children if child.has_ended])
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        return f"{ended[0].name} ended:\n{ended[0].last_output()}" if ended else None

    def end(self, *, keep_logs: bool = False) -> None:
        for child in reversed(self._children):
            # etcd's data is deleted: no need to wait for a graceful shutdown.
            child.stop(first=SIGKILL)
        if not keep_logs:
            shutil.rmtree(self.directory, ignore_errors=True)


class RealApiServer:
    """etcd and kube-apiserver from the binaries in KUBEBUILDER_ASSETS or the cache of `make envtest`."""

    name = "real"

    def __init__(self) -> None:
        self._bed = _Bed("kube-apiserver")
        self.directory = self._bed.directory
        try:
            self._start()
        except BaseException as error:
            error.add_note(f"logs are kept in {self.directory}")
            self._bed.end(keep_logs=True)
            raise

    def client(self, *, token: str | None = None) -> HttpClient:
        return HttpClient(url=self.url, token=self.token if token is None else token, ca=self.ca)

    def start_controllers(self, controllers: Sequence[str] = CONTROLLERS) -> None:
        port = free_port()
        controller_manager = self._bed.run(
            "kube-controller-manager",
            assets() / "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(controllers)}",
            "--service-account-private-key-file=accounts.key",
            "--root-ca-file=ca.crt",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        )
        health = HttpClient(url=f"https://127.0.0.1:{port}")
        health.__dict__["_trust"] = _trusting_no_one()
        controller_manager.wait_until(lambda: _is_up(health, "/healthz"), seconds=START)

    def forget_history(self) -> None:
        etcd = HttpClient(url=self._etcd_url)
        now = etcd.request("POST", "/v3/kv/range", json.dumps({"key": "AA=="}).encode()).body["header"][
            "revision"
        ]
        done = etcd.request("POST", "/v3/kv/compaction", json.dumps({"revision": now}).encode())
        assert done.is_success, done.content
        etcd.close()

    def last_output(self, *, seconds: float = 0) -> str | None:
        return self._bed.last_output(seconds=seconds)

    def stop(self) -> None:
        self._bed.end()

    def _start(self) -> None:
        make_authority(self.directory)
        self.ca = self.directory / "ca.crt"
        self.token = f"{ADMIN}-token"
        rows = [
            f'{self.token},{ADMIN},{ADMIN},"system:masters"',
            *(f"{name}-token,{name},{name}" for name in PLAIN_USERS),
        ]
        (self.directory / "tokens.csv").write_text("\n".join(rows) + "\n")
        port, etcd_port, peer_port = free_port(), free_port(), free_port()
        self.url = f"https://127.0.0.1:{port}"
        self._etcd_url, peer = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
        self.kubeconfig = _write_kubeconfig(self.directory / "kubeconfig", self.url, self.ca, self.token)
        etcd = self._bed.run(
            "etcd",
            assets() / "etcd",
            "--data-dir=etcd",
            f"--listen-client-urls={self._etcd_url}",
            f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )
        etcd.wait_until(lambda: _is_up(HttpClient(url=self._etcd_url), "/health"), seconds=START)
        api = self._bed.run(
            "kube-apiserver",
            assets() / "kube-apiserver",
            f"--etcd-servers={self._etcd_url}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--tls-cert-file=serving.crt",
            "--tls-private-key-file=serving.key",
            "--token-auth-file=tokens.csv",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-signing-key-file=accounts.key",
            "--service-account-key-file=accounts.pub",
            "--allow-privileged=true",
            # A single client needs no priority and fairness, whose bootstrap objects cost seconds of
            # start-up.
            "--enable-priority-and-fairness=false",
            "--profiling=false",
        )
        api.wait_until(lambda: _is_up(self.client(), "/readyz"), seconds=START)


class EmbeddedApiServer:
    """`jangar apiserver` as a separate process over TLS, as a user's kubectl accesses it."""

    name = "embedded"

    def __init__(self, *, bare: bool = False) -> None:
        self._bed = _Bed("apiserver")
        self.directory = self._bed.directory
        try:
            self._start(bare=bare)
        except BaseException as error:
            error.add_note(f"logs are kept in {self.directory}")
            self._bed.end(keep_logs=True)
            raise

    def client(self, *, token: str | None = None) -> HttpClient:
        return HttpClient(url=self.url, token=self.token if token is None else token, ca=self.ca)

    def start_controllers(self, controllers: Sequence[str] = CONTROLLERS) -> None:
        """It deletes namespaces and collects garbage itself."""

    def forget_history(self) -> None:
        """It keeps no history from before its first start."""

    def last_output(self, *, seconds: float = 0) -> str | None:
        return self._bed.last_output(seconds=seconds)

    def stop(self) -> None:
        self._bed.end()

    def _start(self, *, bare: bool) -> None:
        command = Path(sys.executable).with_name("jangar")
        data = self.directory / "data"
        data.mkdir(mode=0o700)
        admin = {"user": "admin", "uid": "admin", "groups": ["system:masters"]}
        (data / "tokens.json").write_text(json.dumps({secrets.token_urlsafe(24): admin}))
        self.kubeconfig = self.directory / "kubeconfig"
        server = self._bed.run(
            "apiserver",
            command,
            "apiserver",
            *("--data-dir", self.directory / "data"),
            *("--port", str(free_port())),
            *("--kubeconfig", self.kubeconfig),
            *(("--bare",) if bare else ()),
        )
        server.wait_until(self.kubeconfig.exists, seconds=START)
        self.url, self.token, self.ca = _read_kubeconfig(self.kubeconfig)
        server.wait_until(lambda: _is_up(self.client(), "/readyz"), seconds=START)


def wait_for(condition: Any, *, seconds: float = 30.0, what: str = "it") -> Any:
    """Call `condition` every 50 ms until its result is true; fail at the deadline."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:.0f} s"
        time.sleep(0.05)
    return answer


def _is_up(client: HttpClient, path: str) -> bool:
    try:
        return client.request("GET", path, seconds=5).is_success
    except (OSError, AssertionError):
        return False
    finally:
        client.close()


def _trusting_no_one() -> Any:
    """A health check of a process with a new self-made certificate."""
    import ssl  # noqa: PLC0415 - the one place that looks away

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _write_kubeconfig(path: Path, url: str, ca: Path, token: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bed", "cluster": {"server": url, "certificate-authority": str(ca)}}],
        "users": [{"name": ADMIN, "user": {"token": token}}],
        "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": ADMIN}}],
        "current-context": "bed",
    }
    path.write_text(yaml.safe_dump(config))
    return path


def _read_kubeconfig(path: Path) -> tuple[str, str, Path | None]:
    config = yaml.safe_load(path.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    if data := cluster.get("certificate-authority-data"):
        ca = path.with_name("bed-ca.crt")
        ca.write_bytes(base64.b64decode(data))
    else:
        given = cluster.get("certificate-authority")
        ca = path.parent / given if given else None
    return cluster["server"], user["token"], ca
