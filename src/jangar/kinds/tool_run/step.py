"""Steps of kind ToolRun: each attempt creates a ToolRun of the step's Tool."""

from collections.abc import Mapping

from jangar.api.meta import JsonObject
from jangar.api.orchestration import Step
from jangar.api.phases import StepKind
from jangar.api.tools import TOOL_RUN
from jangar.kinds.run_objects import explain_work, observe_run, run_outputs, stop_run
from jangar.kinds.step_adapter import StepAdapter, StepView
from jangar.kinds.step_references import StepReferences

REFERENCES = StepReferences(required=(("toolRef",),), target_field="toolRef")


def start(step: Step | None, target: str | None, parameters: Mapping[str, str]) -> JsonObject:
    """The spec of the ToolRun."""
    on_job_missing = step.on_job_missing if step is not None else None
    return {
        "toolRef": {"name": target},
        **({"parameters": dict(parameters)} if parameters else {}),
        **({"onJobMissing": str(on_job_missing)} if on_job_missing else {}),
    }


STEP = StepAdapter(
    name=StepKind.TOOL_RUN,
    child=TOOL_RUN,
    references=REFERENCES,
    validate=REFERENCES.problems,
    start=start,
    observe=observe_run,
    outputs=run_outputs,
    stop=stop_run,
    explain=explain_work,
    view=StepView(),
    not_run_here="this controller does not run tools",
)
