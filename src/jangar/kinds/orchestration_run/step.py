"""Steps of kind SubOrchestration: each attempt creates a nested OrchestrationRun of the step's Orchestration."""

from collections.abc import Mapping, Sequence

from jangar.api.meta import JsonObject
from jangar.api.orchestration import ORCHESTRATION_RUN, Step
from jangar.api.phases import StepKind
from jangar.api.reasons import Reason
from jangar.kinds.run_objects import explain_work, observe_run, run_outputs, stop_run, suspend_run
from jangar.kinds.step_adapter import StepAdapter, StepView
from jangar.kinds.step_references import StepReferences

REFERENCES = StepReferences(required=(("orchestrationRef",),), target_field="orchestrationRef")


def start(step: Step | None, target: str | None, parameters: Mapping[str, str]) -> JsonObject:
    """The spec of the nested run."""
    del step
    return {
        "orchestrationRef": {"name": target},
        **({"parameters": dict(parameters)} if parameters else {}),
    }


def nesting_refusal(lineage: Sequence[str], target: str, *, max_depth: int) -> Reason | None:
    """Why a run may not start a nested run of `target`; None if it may.

    `lineage` names the orchestrations from the root run down to the one that asks; `max_depth` is how long it
    may become with `target` added.
    """
    if target in lineage:
        return Reason.RECURSIVE_ORCHESTRATION
    if len(lineage) >= max_depth:
        return Reason.NESTING_TOO_DEEP
    return None


def refuse_start(target: str | None, lineage: tuple[str, ...], max_depth: int) -> tuple[Reason, str] | None:
    """The same with a message."""
    reason = nesting_refusal(lineage, target, max_depth=max_depth) if target is not None else None
    if reason is None:
        return None
    if reason is Reason.RECURSIVE_ORCHESTRATION:
        return reason, f"the orchestration would contain itself: {' -> '.join((*lineage, str(target)))}"
    return reason, f"orchestrations are nested more than {max_depth} levels deep"


STEP = StepAdapter(
    name=StepKind.SUB_ORCHESTRATION,
    child=ORCHESTRATION_RUN,
    references=REFERENCES,
    validate=REFERENCES.problems,
    start=start,
    observe=observe_run,
    outputs=run_outputs,
    stop=stop_run,
    explain=explain_work,
    view=StepView(opens_run=True, has_log=False, no_child="the nested run does not exist"),
    called_orchestration=REFERENCES.target,
    refuse_start=refuse_start,
    suspend=suspend_run,
)
