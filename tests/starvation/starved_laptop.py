"""`jangar up` on a machine that runs out of a resource, a run with many steps on it, and the outcome of each step."""

import json
import random
import ssl
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from e2e.example_ends import steps_of
from e2e.laptop_process import LaptopProcess

WIDTH = 10
RUN_SECONDS = 600
RUNS = "/apis/orchestration.proompteng.ai/v1alpha1/namespaces/default/orchestrationruns"
TOOLS = "/apis/tools.proompteng.ai/v1alpha1/namespaces/default/tools"
SCRIPT = """
echo "start $NAME" >> "$LEDGER"
sleep "$NAP"
echo "output of $NAME"
until echo "{\\"name\\": \\"$NAME\\"}" > "$JANGAR_RESULT_PATH"; do sleep 0.2; done 2> /dev/null
echo "end $NAME" >> "$LEDGER"
"""

OK = 200
ENDS = frozenset({"Succeeded", "Failed"})

WITHOUT_FORK = """
import os, time
name, ledger, result = (os.environ[key] for key in ("NAME", "LEDGER", "JANGAR_RESULT_PATH"))
def note(what):
    with open(ledger, "a") as file:
        file.write(f"{what} {name}\\n")
note("start")
time.sleep(float(os.environ["NAP"]))
print("output of", name)
with open(result, "w") as file:
    file.write('{"name": "%s"}' % name)
note("end")
"""
"""The same for a machine without processes: a shell that cannot fork exits with 2, and so would the step."""


class StarvedLaptop(LaptopProcess):
    """One control plane, and a ledger in which each step records its start and end."""

    def __init__(self, home: Path, ledger: Path, prefix: tuple[str, ...] = (), **environment: str) -> None:
        super().__init__(home)
        self.prefix = prefix
        self.step_command = ["sh", "-c", SCRIPT]
        self.environment |= environment
        self.ledger = ledger
        ledger.touch()
        ledger.chmod(0o666)

    def connect(self) -> None:
        """Read the API's address and token: commands would need the missing resource."""
        config = yaml.safe_load((self.data / "kubeconfig").read_text())
        self._server = config["clusters"][0]["cluster"]["server"]
        self._token = config["users"][0]["user"]["token"]
        # It is on loopback, and its certificate is expired where the clock is changed.
        self._context = ssl._create_unverified_context()  # noqa: S323 - see above

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        request = urllib.request.Request(  # noqa: S310 - ours
            f"{self._server}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:  # noqa: S310
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"{}")

    def submit(self, name: str, steps: int, seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311 - a trial that can be repeated
        tool = {
            "apiVersion": "tools.proompteng.ai/v1alpha1",
            "kind": "Tool",
            "metadata": {"name": "ledger"},
            "spec": {
                "image": "any",
                "command": self.step_command,
                "env": [
                    {"name": "NAME", "value": "{{ parameters.name }}"},
                    {"name": "NAP", "value": "{{ parameters.nap }}"},
                    {"name": "LEDGER", "value": str(self.ledger)},
                ],
            },
        }
        spec = {"orchestration": {"steps": [a_step(number, rng) for number in range(steps)]}}
        run = {
            "apiVersion": "orchestration.proompteng.ai/v1alpha1",
            "kind": "OrchestrationRun",
            "metadata": {"name": name},
            "spec": spec,
        }
        for path, body in ((TOOLS, tool), (RUNS, run)):
            status, answer = self.request("POST", path, body)
            assert status == 201, answer

    def ended(self) -> int:
        """The number of steps that recorded their end."""
        return self.ledger.read_text().count("end ")

    def has_ended(self, name: str) -> bool:
        """Whether the run has ended; False while the API is unavailable."""
        with suppress(OSError):
            status, run = self.request("GET", f"{RUNS}/{name}")
            return status == OK and (run.get("status") or {}).get("phase") in ENDS
        return False

    def outcome(self, name: str, *, meanwhile: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """The run, once it has ended."""
        deadline = time.monotonic() + RUN_SECONDS
        while True:
            assert self.up is not None
            assert self.up.poll() is None, f"it ended:\n{self.log()}"
            meanwhile()
            with suppress(OSError):
                status, run = self.request("GET", f"{RUNS}/{name}")
                if status == OK and (run.get("status") or {}).get("phase") in ENDS:
                    return run
            assert time.monotonic() < deadline, f"{self.ended()} steps ended:\n{self.log()}"
            time.sleep(0.3)

    def log(self) -> str:
        with suppress(OSError):
            return (self.data / "server.log").read_text()[-4000:]
        return ""


def a_step(number: int, rng: random.Random) -> dict[str, Any]:
    layer = number // WIDTH
    before = range((layer - 1) * WIDTH, layer * WIDTH) if layer else range(0)
    chosen = rng.sample([*before], 2) if before else []
    return {
        "name": f"s{number:02d}",
        "kind": "ToolRun",
        "toolRef": {"name": "ledger"},
        "dependsOn": [f"s{item:02d}" for item in sorted(chosen)],
        "with": {"name": f"s{number:02d}", "nap": f"{rng.uniform(0.05, 0.4):.2f}"},
        "outputs": [{"name": "name"}],
        "timeoutSeconds": 240,
    }


def wrongs(run: dict[str, Any], ledger: Path, steps: int) -> list[str]:
    """Every step that was lost, repeated, or recorded with a wrong outcome."""
    problems = []
    lines = Counter(ledger.read_text().splitlines())
    recorded = steps_of(run["status"])
    for number in range(steps):
        name = f"s{number:02d}"
        step = recorded.get(name, {})
        if lines[f"start {name}"] > 1:
            problems.append(f"{name} ran {lines[f'start {name}']} times")
        if lines[f"end {name}"] != 1:
            problems.append(f"{name} ended {lines[f'end {name}']} times")
        if step.get("phase") != "Succeeded":
            problems.append(f"{name} is {step.get('phase')}: {step.get('reason')} {step.get('message')}")
        elif (step.get("outputs") or {}).get("name") != name:
            problems.append(f"{name} lost its output: {step.get('outputs')}")
    return problems
