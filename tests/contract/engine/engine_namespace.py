"""A test's own namespace on a bed: tools from shell scripts, orchestrations from steps, and waiting for runs.

Every tool records its execution first; `mark` identifies the step, so that a test can count executions independently
of the objects.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from contract.engine.engine_api import Api
from contract.engine.engine_beds import Bed
from jangar.api.phases import TERMINAL

IMAGE = "busybox:1.37"
COUNT = '[ -z "$LEDGER" ] || echo "$MARK" >> "$LEDGER"\n'
POLL = 0.05

OK = "true"
FAIL = "exit 3"
FOREVER = 'trap "exit 143" TERM; while :; do sleep 0.1; done'
"""Runs until SIGTERM and then exits as a well-behaved program does."""


def step(name: str, tool: str = "ok", after: Sequence[str] | None = None, **fields: Any) -> dict[str, Any]:
    """A step that runs a tool; `inputs` become its parameters. Without `after` it has no `dependsOn` at all."""
    given = {"mark": name, **fields.pop("inputs", {})}
    dependencies = {} if after is None else {"dependsOn": list(after)}
    return {
        "name": name,
        "kind": "ToolRun",
        "toolRef": {"name": tool},
        "with": given,
        **dependencies,
        **fields,
    }


def nested(
    name: str, orchestration: str, after: Sequence[str] | None = None, **fields: Any
) -> dict[str, Any]:
    """A step that runs another orchestration."""
    given = {"with": fields.pop("inputs")} if "inputs" in fields else {}
    dependencies = {} if after is None else {"dependsOn": list(after)}
    reference = {"orchestrationRef": {"name": orchestration}}
    return {"name": name, "kind": "SubOrchestration", **reference, **given, **dependencies, **fields}


@dataclass(frozen=True, kw_only=True)
class EngineNamespace:
    """A namespace and the actions of a test in it."""

    bed: Bed
    api: Api

    def tool(self, name: str, script: str = OK, *, env: Mapping[str, str] | None = None, **spec: Any) -> None:
        """`env` may contain templates, such as the tool's parameters."""
        given = {
            "MARK": '{{ parameters.mark ?? "none" }}',
            "LEDGER": self.bed.ledger(self.api.namespace),
            **(env or {}),
        }
        listed = [{"name": key, "value": value} for key, value in given.items()]
        self.api.create(
            "Tool", name, {"image": IMAGE, "command": ["sh", "-c", COUNT + script], "env": listed, **spec}
        )

    def change_tool(self, name: str, script: str) -> None:
        self.api.merge("Tool", name, {"spec": {"command": ["sh", "-c", COUNT + script]}})

    def orchestration(self, name: str, steps: Sequence[Mapping[str, Any]], **spec: Any) -> None:
        self.api.create("Orchestration", name, {"steps": list(steps), **spec})

    def run(self, orchestration: str, name: str | None = None, **spec: Any) -> "Run":
        name = name or f"{orchestration}-run"
        self.api.create("OrchestrationRun", name, {"orchestrationRef": {"name": orchestration}, **spec})
        return Run(self, name)

    def run_of(self, steps: Sequence[Mapping[str, Any]], name: str = "run", **definition: Any) -> "Run":
        """A run with an inline definition."""
        spec = {"orchestration": {"steps": list(steps), **definition}}
        self.api.create("OrchestrationRun", name, spec)
        return Run(self, name)

    def executions(self) -> Counter[str]:
        """The number of executions of each step's work."""
        return self.bed.executions(self.api.namespace)

    def await_executions(self, **expected: int) -> None:
        """A node reports a start with a delay."""
        self.await_(lambda: self.executions() == Counter(expected), f"that the work ran {expected}")

    def await_(self, condition: Callable[[], Any], what: str, *, seconds: float | None = None) -> Any:
        """Return the first true result; fail at the deadline."""
        patience = seconds or self.bed.patience
        deadline = time.monotonic() + patience
        while not (answer := condition()):
            assert time.monotonic() < deadline, (
                f"{what}: not within {patience:.0f} s\n{self.state()}\ncontrollers:\n{self.bed.last_output()}"
            )
            time.sleep(POLL)
        return answer

    def state(self) -> str:
        """A summary of the namespace for failure messages."""
        shown = [
            {"kind": kind, "name": item["metadata"]["name"], "status": item.get("status")}
            for kind in ("OrchestrationRun", "ToolRun", "AgentRun", "Job", "Pod")
            for item in self.api.all(kind)
        ]
        return yaml.safe_dump(shown) + f"executions: {dict(self.executions())}"


@dataclass(frozen=True)
class Run:
    """An OrchestrationRun by its name."""

    namespace: EngineNamespace
    name: str

    @property
    def object(self) -> Any:
        return self.namespace.api.get("OrchestrationRun", self.name)

    @property
    def status(self) -> dict[str, Any]:
        return self.object.get("status") or {}

    @property
    def steps(self) -> dict[str, dict[str, Any]]:
        return {step_status["name"]: step_status for step_status in self.status.get("stepStatuses") or ()}

    def phases(self) -> dict[str, str]:
        return {name: item["phase"] for name, item in self.steps.items()}

    def reasons(self) -> dict[str, str]:
        return {name: item.get("reason", "") for name, item in self.steps.items()}

    def condition(self, kind: str) -> dict[str, Any]:
        return next((item for item in self.status.get("conditions") or () if item["type"] == kind), {})

    def children(self) -> list[Any]:
        """Its ToolRuns."""
        return self.namespace.api.all(
            "ToolRun", **{"jangar.proompteng.ai/run-uid": self.object["metadata"]["uid"]}
        )

    def jobs(self) -> list[Any]:
        return self.namespace.api.all(
            "Job", **{"jangar.proompteng.ai/run-uid": self.object["metadata"]["uid"]}
        )

    def ends(self, phase: str, *, seconds: float | None = None) -> dict[str, Any]:
        """Return its status once it has ended; it must end in this phase."""
        status = self.namespace.await_(
            lambda: status if (status := self.status).get("phase") in TERMINAL else None,
            f"that {self.name} ends",
            seconds=seconds,
        )
        assert status["phase"] == phase, self.namespace.state()
        return status

    def reaches(self, **phases: str) -> None:
        """Wait until the named steps are in these phases (`_` stands for `-`)."""
        wanted = {name.replace("_", "-"): phase for name, phase in phases.items()}
        self.namespace.await_(
            lambda: wanted.items() <= self.phases().items(), f"that steps of {self.name} are {wanted}"
        )

    def works(self, name: str) -> None:
        """Wait until the program of this step has started."""
        self.reaches(**{name: "Running"})
        self.namespace.await_(lambda: self.namespace.executions()[name], f"that the program of {name} begins")

    def change(self, **spec: Any) -> None:
        self.namespace.api.merge("OrchestrationRun", self.name, {"spec": spec})

    def cancel(self) -> None:
        self.change(cancel=True)
