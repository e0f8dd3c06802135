"""Runs at one moment, as the tests of what is shown of them need them."""

from dataclasses import replace

from jangar.api.phases import ExecutionMode, Phase, StepPhase
from jangar.cli.following.tree import RunSnapshot, Tree, tree_of
from jangar.domain.orchestration.explain import RunView
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.status_contract import Lifecycle
from jangar.operations.run_reading import ReadRun
from support.builders import a_definition, a_step, at

NOW = at(11)
RUNNING = {"phase": StepPhase.RUNNING, "reason": "Running", "attempt": 1, "started_at": at(1)}
SUCCEEDED = {
    "phase": StepPhase.SUCCEEDED,
    "reason": "Succeeded",
    "attempt": 1,
    "started_at": at(1),
    "finished_at": at(3),
}
FAILED = {
    "phase": StepPhase.FAILED,
    "reason": "NonZeroExit",
    "message": "exit code 3",
    "attempt": 1,
    "started_at": at(3),
    "finished_at": at(5),
}
STARTING = {"phase": StepPhase.PENDING, "reason": "Starting", "attempt": 1, "started_at": at(1)}
LOST = {
    "phase": StepPhase.PENDING,
    "reason": "ReferenceNotFound",
    "message": 'tool "x" does not exist',
    "attempt": 1,
    "started_at": at(1),
}


def a_seen(definition, states, *, name="nightly", inside=None, **lifecycle) -> RunSnapshot:
    """A run of this definition, with the given changes to its steps by name."""
    steps = tuple(replace(fresh, **states.get(fresh.name, {})) for fresh in definition.fresh)
    facts = {"phase": Phase.RUNNING, "reason": "Running", "message": "", "started_at": at(1)} | lifecycle
    record = RunRecord(lifecycle=Lifecycle(**facts), steps=steps, mode=ExecutionMode.GRAPH)
    obj = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-02-07T12:00:00Z",
        },
        "spec": {"orchestrationRef": {"name": "build"}},
        "status": {"phase": str(facts["phase"])},
    }
    view = RunView(definition=definition, record=record)
    return RunSnapshot(read=ReadRun(obj=obj, record=record, view=view), inside=inside or {})


def a_tree(definition, states=None, *, now=NOW, last_lines=None, **rest) -> Tree:
    return tree_of(a_seen(definition, states or {}, **rest), now=now, last_lines=last_lines or {})


def nested(name: str, *after: str) -> dict:
    return {
        "name": name,
        "kind": "SubOrchestration",
        "orchestrationRef": {"name": "inner"},
        "dependsOn": list(after),
    }


DIAMOND = a_definition(a_step("a"), a_step("b", "a", retries=2), a_step("c", "a"), a_step("d", "b", "c"))
