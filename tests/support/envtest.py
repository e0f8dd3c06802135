"""Locates the real Kubernetes binaries through the script that provides them; builds nothing."""

import os
import subprocess
from functools import cache
from pathlib import Path

BUILD = Path(__file__).parents[2] / "scripts" / "envtest" / "build"
API_SERVER_PARTS = ("etcd", "kube-apiserver", "kube-controller-manager")


@cache
def assets() -> Path:
    """The directory of the binaries, whether or not they exist."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(given)
    reported = subprocess.run([BUILD, "--where"], check=True, capture_output=True, text=True, timeout=30)
    return Path(reported.stdout.strip())


def missing_parts(parts: tuple[str, ...] = API_SERVER_PARTS) -> list[str]:
    return [part for part in parts if not os.access(assets() / part, os.X_OK)]
