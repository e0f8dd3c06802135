"""A definition ready to be planned: steps as plain values, edges resolved, conditions and templates compiled.

Knows what a checked definition holds; checking it is validation's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from jangar.api.orchestration import Policies, Step
from jangar.api.phases import ExecutionMode, OnJobMissing
from jangar.domain.orchestration.graph import Graph
from jangar.domain.orchestration.state import StepState
from jangar.domain.orchestration.templates import Template
from jangar.kinds.registry import step_adapter
from jangar.kinds.step_adapter import StepAdapter


class Condition(Protocol):
    """A compiled `when`. The caller compiles it: the domain has no expression language."""

    @property
    def source(self) -> str: ...

    def references(self, variable: str) -> frozenset[str]:
        """Names selected from a variable, such as the steps that a condition reads."""
        ...

    def uses_whole(self, variable: str) -> bool:
        """Whether the variable is used other than by selecting literal names."""
        ...

    def evaluate(self, bindings: Mapping[str, object]) -> object:
        """The value; raises ValueError when there is none."""
        ...


class ConditionCompiler(Protocol):
    """Turns the text of a `when` into a condition; raises ValueError with the reason if it cannot."""

    def __call__(self, source: str, /) -> Condition: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDefinition:
    """One step with everything resolved that does not depend on a run."""

    index: int
    name: str
    kind: str
    needs: tuple[int, ...]
    target: str | None = None
    """Name of the Agent, Tool or Orchestration that the child runs."""
    when: Condition | None = None
    continue_on_failure: bool = False
    retries: int | None = None
    retry_backoff: timedelta = timedelta(0)
    timeout: timedelta | None = None
    on_job_missing: OnJobMissing = OnJobMissing.FAIL
    inputs: Mapping[str, Template] = field(default_factory=dict)
    output_defaults: Mapping[str, str] = field(default_factory=dict)
    source: Step | None = None
    """The step as written, for the child's spec."""

    @property
    def adapter(self) -> StepAdapter:
        return step_adapter(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A checked orchestration."""

    mode: ExecutionMode
    graph: Graph
    steps: tuple[StepDefinition, ...]
    outputs: Mapping[str, Template] = field(default_factory=dict)
    policies: Policies = field(default_factory=Policies)
    declares_parameters: bool = False
    parameter_defaults: Mapping[str, str] = field(default_factory=dict)
    fresh: tuple[StepState, ...] = field(init=False)
    """The initial states of a run, created once: ten thousand of them cost more than a plan."""

    def __post_init__(self) -> None:
        fresh = tuple(StepState(name=step.name, kind=step.kind) for step in self.steps)
        object.__setattr__(self, "fresh", fresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicies:
    """The policies in force, with defaults."""

    fail_fast: bool = False
    max_parallel: int | None = None
    timeout: timedelta | None = None
    retries: int = 0


def policies_in_force(defined: Policies | None, overriding: Policies | None) -> RunPolicies:
    """Field by field: the run's own value, else the definition's, else the default. 0 means no limit."""
    layers = [layer for layer in (overriding, defined) if layer is not None]
    fail_fast = next((item.fail_fast for item in layers if item.fail_fast is not None), False)
    max_parallel = next((item.max_parallel for item in layers if item.max_parallel is not None), None)
    retries = next((item.retries for item in layers if item.retries is not None), 0)
    totals = (item.timeouts.total_seconds for item in layers if item.timeouts is not None)
    total = next((seconds for seconds in totals if seconds is not None), None)
    return RunPolicies(
        fail_fast=fail_fast,
        max_parallel=max_parallel or None,
        timeout=timedelta(seconds=total) if total else None,
        retries=retries,
    )
