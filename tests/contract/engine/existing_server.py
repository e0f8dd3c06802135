"""An already running API server, accessed by its kubeconfig, with the interface of the servers that tests start."""

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from support.kube_http import HttpClient


class ExistingServer:
    """It does not own the processes: stopping it does nothing."""

    def __init__(self, name: str, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.name, self.kubeconfig = name, kubeconfig
        self.url, self.token = cluster["server"], user["token"]
        self._files = tempfile.TemporaryDirectory(prefix="jangar-existing-")
        self.ca: Path | None = Path(self._files.name) / "ca.crt"
        self.ca.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))

    def client(self, *, token: str | None = None) -> HttpClient:
        return HttpClient(url=self.url, token=self.token if token is None else token, ca=self.ca)

    def start_controllers(self, controllers: Sequence[str] = ()) -> None:
        """It has its own controllers."""

    def forget_history(self) -> None:
        raise NotImplementedError

    def last_output(self, *, seconds: float = 0) -> str | None:
        return None

    def stop(self) -> None:
        self._files.cleanup()
