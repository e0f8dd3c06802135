"""Scales a Deployment and a Rollout of one name to nothing and waits until their pods are gone.

Runs before an uninstall, in the pod of a hook: the controllers must not hold what is being released. Needs nothing but
Python and the service account of its pod. What is not there counts as stopped.
"""
# ruff: noqa: INP001, T201, S310 (a script of a pod, which talks to the pod's own API server)

import argparse
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
KINDS = (("apps/v1", "deployments"), ("argoproj.io/v1alpha1", "rollouts"))
LOOK_SECONDS = 1.0
GONE = 404


class Api:
    """The API server, as the service account of this pod."""

    def __init__(self, server: str, account: Path) -> None:
        self.server, self.account = server, account
        is_safe = server.startswith("https")
        self.trust = ssl.create_default_context(cafile=str(account / "ca.crt")) if is_safe else None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer; None if what is asked for does not exist."""
        token = (self.account / "token").read_text(encoding="utf-8").strip()
        request = urllib.request.Request(
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=self.trust) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == GONE:
                return None
            said = error.read().decode()[:500]
            raise SystemExit(f"{method} {path}: {error.code} {said}") from None


def stop(api: Api, namespace: str, name: str, selector: str, seconds: float) -> int:
    """Exit code 0 once no pod is left, 1 if some are after the time."""
    for version, plural in KINDS:
        path = f"/apis/{version}/namespaces/{namespace}/{plural}/{name}/scale"
        if api.ask("PATCH", path, {"spec": {"replicas": 0}}) is not None:
            print(f"{plural}/{name} scaled to 0", flush=True)
    query = urllib.parse.urlencode({"labelSelector": selector})
    deadline = time.monotonic() + seconds
    while True:
        pods = api.ask("GET", f"/api/v1/namespaces/{namespace}/pods?{query}")["items"]
        alive = [pod["metadata"]["name"] for pod in pods if is_alive(pod)]
        if not alive:
            print(f"no pod of {name} is left", flush=True)
            return 0
        if time.monotonic() >= deadline:
            print(f"still there after {seconds:.0f} s: {', '.join(alive)}", file=sys.stderr)
            return 1
        time.sleep(LOOK_SECONDS)


def is_alive(pod: Any) -> bool:
    """Whether a process of it may still run."""
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--selector", required=True, help="labels of the pods")
    parser.add_argument("--seconds", type=float, default=120, help="how long to wait for the pods")
    parser.add_argument("--server", default="", help="else what the environment of the pod says")
    parser.add_argument("--account", type=Path, default=ACCOUNT, help="directory of token and ca.crt")
    asked = parser.parse_args()
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    host = f"[{host}]" if ":" in host else host
    server = asked.server or f"https://{host}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}"
    return stop(Api(server, asked.account), asked.namespace, asked.name, asked.selector, asked.seconds)


if __name__ == "__main__":
    sys.exit(main())
