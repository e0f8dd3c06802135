"""The chart on a real cluster: the product's image on its node, Helm releases, and a load of runs.

Creates and observes; the tests decide what to expect.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

from chart_render import CHART, ROOT, Ran, nested, run_helm

import jangar
from contract.engine.engine_api import Api
from contract.engine.existing_server import ExistingServer
from contract.engine.pod_ledger import PodLedger
from e2e.kubectl_command import Kubectl
from support.api_servers import wait_for
from support.kube_http import HttpClient
from support.object_follower import ObjectFollower

REPOSITORY = "jangar.local/jangar"
IMAGE = ROOT / "dist" / "jangar-image.tar"
NOW, NEXT = jangar.__version__, f"{jangar.__version__}+next"
TAGS = {NOW: NOW, NEXT: "next"}
"""Two versions of the product and their image tags; the second is the first under another version number."""
RUNS_PATH = "/apis/orchestration.proompteng.ai/v1alpha1/orchestrationruns"
QUICK = {"leaseDurationSeconds": 10, "renewDeadlineSeconds": 8, "retryPeriodSeconds": 2}
PATIENCE = 180.0
"""Timeout in seconds; other tests may load the machine."""
CONTROLLERS = "app.kubernetes.io/name=agents-controllers"


def why_no_image() -> str | None:
    """Build the image of this source if it is missing or outdated; return the reason if it cannot be built."""
    newest = max(path.stat().st_mtime for path in (ROOT / "src").rglob("*.py"))
    if IMAGE.exists() and IMAGE.stat().st_mtime > newest:
        return None
    made = subprocess.run(
        ["make", "image"], cwd=ROOT, check=False, capture_output=True, text=True, timeout=900
    )
    return None if made.returncode == 0 else f"make image: {made.stderr.strip().splitlines()[-1]}"


def next_image(to: Path) -> Path:
    """The same product with the next version number."""
    package = to / "next" / "usr/local/lib/python3.11/dist-packages/jangar"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text(
        (ROOT / "src/jangar/__init__.py").read_text("utf-8").replace(f'"{NOW}"', f'"{NEXT}"'), "utf-8"
    )
    # The layers below contain compiled modules, which Python compiles again from the changed source.
    (package / "__pycache__" / ".wh.__init__.cpython-311.pyc").touch()
    layers = [ROOT / "build" / "image" / item for item in ("base", "wheels", "product")]
    out = to / "next.tar"
    words = [
        sys.executable,
        ROOT / "scripts/image/write-oci",
        f"{REPOSITORY}:{TAGS[NEXT]}",
        out,
        *layers,
        to / "next",
    ]
    subprocess.run(words, check=True, capture_output=True, timeout=240)
    return out


@dataclass(frozen=True, kw_only=True)
class Release:
    """The chart as release `agents` in one namespace."""

    server: ExistingServer
    kubectl: Kubectl
    namespace: str
    _clients: list[HttpClient] = field(default_factory=list)

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def helm(self, *words: str, values: dict[str, Any] | None = None) -> str:
        ran = self.try_helm(*words, values=values)
        assert ran.code == 0, ran.out + ran.err
        return ran.out

    def try_helm(self, *words: str, values: dict[str, Any] | None = None) -> Ran:
        return run_helm(
            *words,
            "--namespace",
            self.namespace,
            *(("--values", "-") if values is not None else ()),
            environment={"KUBECONFIG": str(self.server.kubeconfig)},
            stdin=json.dumps(nested(values or {})),
            seconds=400,
        )

    def deploy(self, values: dict[str, Any] | None = None, *words: str, version: str = NOW) -> str:
        """Install or upgrade, and wait for what Helm can wait for."""
        chosen = {
            "image.repository": REPOSITORY,
            "image.tag": TAGS[version],
            "controller.leaderElection": QUICK,
            "resources": {"requests": {"cpu": "20m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
            **(values or {}),
        }
        return self.helm(
            "upgrade", "--install", "agents", str(CHART), "--wait", "--timeout", "180s", *words, values=chosen
        )

    def api(self) -> Api:
        """A client with its own connection."""
        self._clients.append(self.server.client())
        return Api(self._clients[-1], self.namespace)

    def http(self, url: str) -> HttpClient:
        self._clients.append(HttpClient(url=url))
        return self._clients[-1]

    def wait_for(self, kind: str, name: str, phase: str, *, seconds: float = PATIENCE) -> None:
        """Wait until a run is in this phase; fail at once if it ends in another."""

        def is_there() -> bool:
            status = api.get(kind, name).get("status") or {}
            current = status.get("phase")
            assert current == phase or "finishedAt" not in status, (
                f"{name} is {current}: {status.get('message')}"
            )
            return current == phase

        api = self.api()
        wait_for(is_there, what=f"that {name} is {phase}", seconds=seconds)

    def pods(self, labels: str = CONTROLLERS) -> list[Any]:
        return self.kubectl.json(f"get pods -l {labels}")["items"]

    def members(self) -> list[Any]:
        """The controllers as listed by `jangar controllers list`."""
        return list(json.loads(self.jangar("controllers", "list", "--output", "json"))["members"])

    def versions(self) -> dict[str, int]:
        """The number of shards that the controllers of each version hold."""
        shards: dict[str, int] = {}
        for member in self.members():
            if member["alive"]:
                shards[member["version"]] = shards.get(member["version"], 0) + len(member["holds"])
        return shards

    def jangar(self, *words: str) -> str:
        command = [Path(sys.executable).with_name("jangar"), *words, "-n", self.namespace]
        command += ["--kubeconfig", self.server.kubeconfig]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout

    def metrics(self, pod: Any) -> str:
        answer = self.http(f"http://{pod['status']['podIP']}:8081").request("GET", "/metrics")
        assert answer.is_success
        return str(answer.body)


class RunEnds(ObjectFollower):
    """Every terminal phase that was observed for each run."""

    def __init__(self, client: HttpClient) -> None:
        self._ends: dict[tuple[str, str], set[tuple[str, str]]] = {}
        super().__init__(client, RUNS_PATH)

    def of(self, namespace: str) -> dict[str, set[tuple[str, str]]]:
        with self._lock:
            return {name: set(ends) for (within, name), ends in self._ends.items() if within == namespace}

    def take(self, version: dict[str, Any]) -> None:
        status = version.get("status") or {}
        if status.get("finishedAt"):
            key = (version["metadata"]["namespace"], version["metadata"]["name"])
            self._ends.setdefault(key, set()).add((status["phase"], status["finishedAt"]))


TOOL = {
    "image": "busybox:1.37",
    "command": ["sleep", "2"],
    "env": [{"name": "MARK", "value": "{{ parameters.mark }}"}],
    "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
}


class Load:
    """A fixed number of short runs with bounded concurrency, created in the background."""

    def __init__(
        self, api: Api, ends: RunEnds, *, total: int, at_once: int, steps: int = 1, name: str = "run"
    ) -> None:
        self._api, self._ends, self._over = api, ends, Event()
        self.names = [f"{name}-{number:03}" for number in range(total)]
        self.marks = {f"{item}-{step}" for item in self.names for step in range(steps)}
        self._at_once, self._steps = at_once, steps
        api.apply(
            {
                "apiVersion": "tools.proompteng.ai/v1alpha1",
                "kind": "Tool",
                "metadata": {"name": "work"},
                "spec": TOOL,
            }
        )
        self._thread = Thread(target=self._make, name="load", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> int:
        return len(self._ends.of(self._api.namespace).keys() & set(self.names))

    def wait_for(self, number: int, *, seconds: float) -> None:
        """Wait until this many more runs have ended."""
        wanted = min(self.ended + number, len(self.names))
        wait_for(lambda: self.ended >= wanted, what=f"that {wanted} runs have ended", seconds=seconds)

    def finish(self, *, seconds: float) -> None:
        self.wait_for(len(self.names), seconds=seconds)
        self._thread.join(10)

    def stop(self) -> None:
        self._over.set()
        self._thread.join(10)

    def _make(self) -> None:
        for number, name in enumerate(self.names):
            while number - self.ended >= self._at_once and not self._over.is_set():
                time.sleep(0.1)
            if self._over.is_set():
                return
            self._api.create(
                "OrchestrationRun",
                name,
                {"orchestration": {"steps": [self._step(name, at) for at in range(self._steps)]}},
            )

    def _step(self, run: str, at: int) -> dict[str, Any]:
        return {
            "name": f"s{at}",
            "kind": "ToolRun",
            "toolRef": {"name": "work"},
            "with": {"mark": f"{run}-{at}"},
        }


def assert_once(load: Load, namespace: str, pods: PodLedger, ends: RunEnds) -> None:
    """Every run succeeded, was never observed with another outcome, and ran every step once."""
    outcomes = ends.of(namespace)
    assert {phase for name in load.names for phase, _ in outcomes[name]} == {"Succeeded"}
    assert {len(outcomes[name]) for name in load.names} == {1}, "a run has ended twice"
    ran = pods.executions(namespace)
    ran.pop("", None)  # the product's own pods
    assert ran == Counter(dict.fromkeys(load.marks, 1))


@contextmanager
def sampled(look: Callable[[], int]) -> Iterator[list[int]]:
    """The result of `look` twice a second for the duration of the block."""
    outcomes: list[int] = []
    over = Event()

    def follow() -> None:
        while not over.wait(0.5):
            outcomes.append(look())

    thread = Thread(target=follow, daemon=True)
    thread.start()
    yield outcomes
    over.set()
    thread.join(10)
