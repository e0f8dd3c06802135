"""The parameters of an AgentRun checked, as far as the run says itself what they are for. Pure."""

from collections.abc import Iterator, Mapping

from jangar.api.agents.agentrun import AgentRunSpec, WorkflowStep
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.agentrun.task import MAX_VALUE_BYTES, task_of, too_long

_Path = tuple[str | int, ...]


def input_problems(spec: AgentRunSpec) -> list[Problem]:
    """Values that are too long, and required parameters of an inline task that have no value."""
    steps = spec.workflow.steps if spec.workflow and spec.runtime.type == "workflow" else None
    if steps is None:
        return list(_problems(spec, spec.parameters or {}, ("spec",)))
    found: dict[tuple[_Path, str], Problem] = {}
    for index, step in enumerate(steps):
        given = {**(spec.parameters or {}), **(step.parameters or {})}
        own = step if step.implementation or step.implementation_spec_ref else spec
        for problem in _problems(own, given, ("spec", "workflow", "steps", index), step):
            found.setdefault((problem.path, problem.message), problem)
    return list(found.values())


def _problems(
    task: AgentRunSpec | WorkflowStep,
    given: Mapping[str, str],
    path: _Path,
    step: WorkflowStep | None = None,
) -> Iterator[Problem]:
    name = step.name if step else None
    for item in too_long(given):
        own = step is not None and item in (step.parameters or {})
        yield Problem(
            reason=Reason.INVALID_VALUE,
            path=(*(path if own or step is None else ("spec",)), "parameters", item),
            message=f"has more than {MAX_VALUE_BYTES} bytes",
            fix="put it into a file or a Secret",
            step=name if own else None,
        )
    inline = task.implementation.inline if task.implementation else None
    if inline is not None and (missing := task_of(inline, given).missing):
        yield Problem(
            reason=Reason.MISSING_INPUT,
            path=(*path, "parameters"),
            message=f"the task requires parameters: {', '.join(missing)}",
            fix="set a value for each of them",
            step=name,
        )
