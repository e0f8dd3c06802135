"""Argo Rollouts from its published module, installed with its own manifests. Independent of the product."""

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from e2e.kubectl_command import Kubectl
from support.api_servers import wait_for
from support.whole_cluster import WholeCluster

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "scripts" / "envtest" / "tool"
WRITE_IMAGE = ROOT / "scripts" / "cluster" / "write-image"
NAMESPACE, IMAGE = "argo-rollouts", "quay.io/argoproj/argo-rollouts:built-here"
USER = 999
"""Namespace of its image."""


def where() -> Path:
    reported = subprocess.run(
        [TOOL, "--where", "argo-rollouts"], check=True, capture_output=True, text=True, timeout=30
    )
    return Path(reported.stdout.strip())


def why_no_argo() -> str | None:
    """Building it takes minutes: tests only use an existing build."""
    if (where() / "bin" / "rollouts-controller").exists():
        return None
    return "no Argo Rollouts (scripts/envtest/tool argo-rollouts)"


def install_argo(cluster: WholeCluster, kubectl: Kubectl) -> None:
    """Install its definitions, roles and controller, and wait until the controller is up."""
    binary = where() / "bin" / "rollouts-controller"
    with tempfile.TemporaryDirectory(prefix="jangar-argo-") as scratch:
        tar = Path(scratch) / "image.tar"
        words = [
            WRITE_IMAGE,
            IMAGE,
            tar,
            "/bin/rollouts-controller",
            "--",
            f"bin/rollouts-controller={binary}",
        ]
        subprocess.run(words, check=True, capture_output=True, timeout=120)
        cluster.images("import", tar)
    k = kubectl.within(NAMESPACE)
    k("apply -f -", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    k("apply --server-side --force-conflicts -f -", [_ours(manifest) for manifest in _manifests()])
    wait_for(lambda: _is_up(k), what="the controller of Rollouts", seconds=180)


def _is_up(kubectl: Kubectl) -> bool:
    status = kubectl.json("get deployment argo-rollouts").get("status") or {}
    return bool(status.get("readyReplicas"))


def _manifests() -> list[Any]:
    return [item for item in yaml.safe_load_all((where() / "install.yaml").read_text()) if item]


def _ours(manifest: Any) -> Any:
    """The published manifests with our image: nothing can be pulled here."""
    if manifest["kind"] == "Deployment":
        pod = manifest["spec"]["template"]["spec"]
        pod["securityContext"]["runAsUser"] = USER
        pod["containers"][0] |= {"image": IMAGE, "imagePullPolicy": "Never"}
    return manifest


class Rollout:
    """A Rollout, controlled with the patches that its kubectl plugin sends."""

    def __init__(self, kubectl: Kubectl, name: str) -> None:
        self._kubectl, self.name = kubectl, name

    def get(self) -> Any:
        return self._kubectl.json(f"get rollout {self.name}")

    def wait_for(self, phase: str, *, seconds: float = 240) -> Any:
        return wait_for(lambda: self._is(phase), what=f"that {self.name} is {phase}", seconds=seconds)

    def _is(self, phase: str) -> Any | None:
        rollout = self.get()
        status = rollout.get("status") or {}
        observed = status.get("observedGeneration") == str(rollout["metadata"]["generation"])
        return rollout if observed and status.get("phase") == phase else None

    def promote(self) -> None:
        self._status('{"status":{"pauseConditions":null}}')

    def abort(self) -> None:
        self._status('{"status":{"abort":true}}')

    def retry(self) -> None:
        self._status('{"status":{"abort":false}}')

    def restart(self) -> str:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._kubectl(f'patch rollout {self.name} --type=merge -p \'{{"spec":{{"restartAt":"{now}"}}}}\'')
        return now

    def _status(self, patch: str) -> None:
        self._kubectl(f"patch rollout {self.name} --subresource=status --type=merge -p '{patch}'")
