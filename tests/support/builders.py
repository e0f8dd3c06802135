"""Builders of definitions, observations and children, with defaults that a test overrides by name."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.phases import Phase
from jangar.domain.orchestration.definition import Condition, Definition
from jangar.domain.orchestration.planning.observation import Child, ChildSeen, Limits, Observation, RunFacts
from jangar.domain.orchestration.state import RunRecord
from jangar.domain.orchestration.validation import define

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """The time that many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


class PythonCondition:
    """A `when` written in Python, so that domain tests need no expression engine."""

    def __init__(self, source: str) -> None:
        self.source = source
        compile(source, "when", "eval")

    def references(self, variable: str) -> frozenset[str]:
        return frozenset()

    def uses_whole(self, variable: str) -> bool:
        return True

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        try:
            return eval(self.source, {"__builtins__": {}}, dict(bindings))  # noqa: S307 - literals of our own tests
        except Exception as error:
            raise ValueError(str(error)) from error


def compile_python(source: str) -> Condition:
    try:
        return PythonCondition(source)
    except SyntaxError as error:
        raise ValueError(str(error)) from error


def a_step(name: str, *needs: str, graph: bool = True, **fields: Any) -> dict[str, Any]:
    """A ToolRun step as a user writes it; `graph=False` leaves dependsOn out."""
    step: dict[str, Any] = {"name": name, "kind": "ToolRun", "toolRef": {"name": "tool"}}
    if graph:
        step["dependsOn"] = list(needs)
    return step | fields


def a_definition(*steps: Mapping[str, Any], **spec: Any) -> Definition:
    """A validated definition of these steps; a mistake in it fails the test."""
    written = OrchestrationSpec.model_validate({"steps": list(steps), **spec})
    definition = define(written, compile_condition=compile_python)
    assert isinstance(definition, Definition), [str(item) for item in definition]
    return definition


def a_run(**facts: Any) -> RunFacts:
    defaults: dict[str, Any] = {"name": "nightly", "uid": "uid-1", "generation": 1, "created_at": NOON}
    return RunFacts(**(defaults | facts))


def a_child(name: str, phase: Phase = Phase.RUNNING, **facts: Any) -> ChildSeen:
    defaults: dict[str, Any] = {"name": name, "uid": f"uid-of-{name}", "phase": phase, "created_at": NOON}
    return ChildSeen(**(defaults | facts))


def an_observation(
    definition: Any,
    *,
    recorded: RunRecord | None = None,
    children: Sequence[Child] = (),
    run: RunFacts | None = None,
    limits: Limits | None = None,
    **rest: Any,
) -> Observation:
    return Observation(
        run=run or a_run(),
        definition=definition,
        recorded=recorded or RunRecord(),
        children={child.name: child for child in children},
        limits=limits or Limits(),
        **rest,
    )
