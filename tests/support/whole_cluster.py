"""The real cluster of scripts/cluster: the running one, else a new one. Independent of the product."""

import os
import subprocess
import tempfile
from fcntl import LOCK_EX, flock
from pathlib import Path

CLUSTER = Path(__file__).parents[2] / "scripts" / "cluster" / "cluster"
NAMESPACE_OF_IMAGES = "k8s.io"
"""Where containerd stores its data."""


class WholeCluster:
    """A machine has one cluster, and a cluster has one user at a time: others wait."""

    _is_taken = False
    """Locked by this process, which would otherwise wait for itself forever."""

    def __init__(self) -> None:
        assert not WholeCluster._is_taken, (
            "this process uses the cluster already: run these tests by themselves"
        )
        WholeCluster._is_taken = True
        self._state: Path | None = None
        self._lock = (Path(tempfile.gettempdir()) / "jangar-cluster-bed.lock").open("w")
        flock(self._lock, LOCK_EX)
        if _cluster("status").returncode != 0:
            self._state = Path(tempfile.mkdtemp(prefix="jangar-cluster-"))
            started = _cluster("start", self._state)
            assert started.returncode == 0, started.stdout + started.stderr
        self.where = Path(_cluster("where", self._state).stdout.strip())

    @property
    def kubeconfig(self) -> Path:
        return self.where / "admin.kubeconfig"

    def images(self, *words: str | Path) -> str:
        """`ctr images ...` of the node's containerd."""
        command = ["ctr", "-a", self.where / "containerd.sock", "-n", NAMESPACE_OF_IMAGES, "images", *words]
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def stop(self) -> None:
        """Stop it if this process started it; a cluster that was running before continues."""
        if self._state is not None:
            _cluster("stop", self._state)
        self._lock.close()
        WholeCluster._is_taken = False


def why_no_cluster() -> str | None:
    """Why none can run on this machine; None if one can."""
    missing = _cluster("missing")
    return None if missing.returncode == 0 else "; ".join(missing.stdout.split("\n")).strip("; ")


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
