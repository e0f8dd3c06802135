"""Steps of kind AgentRun: each attempt creates an AgentRun of the step's Agent."""

from collections.abc import Mapping
from typing import Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.meta import JsonObject
from jangar.api.orchestration import Step
from jangar.api.phases import StepKind
from jangar.kinds.run_objects import explain_work, observe_run, run_outputs, stop_run
from jangar.kinds.step_adapter import StepAdapter, StepView
from jangar.kinds.step_references import IMPLEMENTATION, StepReferences

REFERENCES = StepReferences(
    required=(("agentRef",), ("implementationSpecRef", IMPLEMENTATION)), target_field="agentRef"
)
COPIED_FIELDS: Final = (
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


def start(step: Step | None, target: str | None, parameters: Mapping[str, str]) -> JsonObject:
    """The spec of the AgentRun: the agent fields of the step, unchanged."""
    written = step.model_dump(mode="json", by_alias=True, exclude_none=True) if step is not None else {}
    return {
        "runtime": {"type": "job"},
        **{name: written[name] for name in COPIED_FIELDS if name in written},
        "agentRef": {"name": target},
        **({"parameters": dict(parameters)} if parameters else {}),
    }


STEP = StepAdapter(
    name=StepKind.AGENT_RUN,
    child=AGENT_RUN,
    references=REFERENCES,
    validate=REFERENCES.problems,
    start=start,
    observe=observe_run,
    outputs=run_outputs,
    stop=stop_run,
    explain=explain_work,
    view=StepView(),
    not_run_here="this controller does not run agents",
)
