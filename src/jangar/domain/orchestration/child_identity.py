"""What a step's child looks like, and the hash by which the run recognizes it. Pure.

A name and an owner reference prove nothing: anybody who may create the kind can write both. The run records the hash
before it creates the child, and the child's uid once it exists; an object that has neither is not the run's.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

from pydantic import ValidationError

from jangar.api.agents.agentrun import AgentRunSpec
from jangar.api.meta import ApiModel, JsonObject
from jangar.api.orchestration import OrchestrationRunSpec
from jangar.api.phases import StepKind
from jangar.api.tools import ToolRunSpec
from jangar.domain.orchestration.definition import StepDefinition

AGENT_FIELDS: Final[tuple[str, ...]] = (
    "implementationSpecRef",
    "implementation",
    "runtime",
    "workload",
    "workflow",
    "memoryRef",
    "secrets",
    "vcsRef",
    "vcsPolicy",
    "goal",
    "onJobMissing",
)
"""Fields that a step has in common with the AgentRun that it starts."""
STEERING: Final = ("cancel", "desiredState", "suspend", "ttlSecondsAfterFinished")
"""Fields that may change while a child runs; they are no part of its identity."""
_SPECS: Final[Mapping[StepKind, type[ApiModel]]] = {
    StepKind.TOOL_RUN: ToolRunSpec,
    StepKind.AGENT_RUN: AgentRunSpec,
    StepKind.SUB_ORCHESTRATION: OrchestrationRunSpec,
}


def child_spec(kind: StepKind, step: StepDefinition, parameters: Mapping[str, str]) -> JsonObject:
    """The `spec` of the object that an attempt of the step creates."""
    given = {"parameters": dict(parameters)} if parameters else {}
    if kind is StepKind.SUB_ORCHESTRATION:
        return {"orchestrationRef": {"name": step.target}, **given}
    if kind is StepKind.AGENT_RUN:
        return _agentrun_spec(step) | given
    source = step.source
    missing = source.on_job_missing if source is not None else None
    return {
        "toolRef": {"name": step.target},
        **given,
        **({"onJobMissing": str(missing)} if missing else {}),
    }


def _agentrun_spec(step: StepDefinition) -> JsonObject:
    """What the step says about its agent, as it is written there."""
    source = step.source
    written = source.model_dump(mode="json", by_alias=True, exclude_none=True) if source is not None else {}
    given = {name: written[name] for name in AGENT_FIELDS if name in written}
    return {"runtime": {"type": "job"}, **given, "agentRef": {"name": step.target}}


def child_hash(
    kind: StepKind, spec: Mapping[str, Any], *, run_uid: str, step: str, attempt: str, lineage: str
) -> str | None:
    """sha256 of what makes a child this one; None for a spec that no step of the kind makes.

    The spec is read through its model, so defaults that an API server adds do not change the hash.
    """
    model = _SPECS.get(kind)
    if model is None:
        return None
    try:
        read = model.model_validate(spec).model_dump(mode="json", by_alias=True, exclude_none=True)
    except ValidationError:
        return None
    own = {name: value for name, value in read.items() if name not in STEERING}
    whole = {
        "kind": str(kind),
        "runUid": run_uid,
        "step": step,
        "attempt": attempt,
        "lineage": lineage if kind is StepKind.SUB_ORCHESTRATION else "",
        "spec": _canonical(own),
    }
    return sha256(json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """An API server stores 1.0 as 1."""
    match value:
        case Mapping():
            return {name: _canonical(item) for name, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
