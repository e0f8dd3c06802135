"""Validates the parameters and the workflow of an AgentRun, and turns the workflow into steps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jangar.api.agents.agentrun import AgentRunSpec, LoopSource, Workflow, WorkflowStep, Workload
from jangar.api.agents.agentrun import Loop as LoopSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.agentrun.task import MAX_VALUE_BYTES, task_of, too_long
from jangar.domain.job_execution.workflow import CONTROL, Loop, RuntimeStep
from jangar.domain.orchestration.definition import Condition, ConditionCompiler
from jangar.domain.orchestration.validation import name_problems
from jangar.domain.orchestration.validation_references import Place

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


CONTROL_PATH = "/workspace/.agentrun/loop-control.json"
"""Where an iteration leaves what its loop's condition looks at, unless the loop names another file."""
RUNTIMES = ("job", "workflow")
_STEPS = Place(path=("spec", "workflow", "steps"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPosition:
    """The step that an attempt belongs to."""

    step: WorkflowStep
    index: int
    iteration: int | None = None

    @property
    def control_path(self) -> str | None:
        """The file that the condition of its loop looks at."""
        loop = self.step.loop
        if loop is None or loop.condition is None:
            return None
        return (loop.condition.source and loop.condition.source.path) or CONTROL_PATH


def define_runtime_steps(
    spec: AgentRunSpec, *, compile_condition: ConditionCompiler
) -> tuple[RuntimeStep, ...] | list[Problem]:
    """The workflow steps of a run, empty if it is one Job; or all problems of the run itself."""
    kind = spec.runtime.type
    if kind not in RUNTIMES:
        problem = Place(path=("spec", "runtime", "type")).problem(
            Reason.INVALID_VALUE,
            f'runtime type "{kind}" is not supported',
            f"use one of {', '.join(RUNTIMES)}",
        )
        return [problem]
    steps = define_workflow(spec, compile_condition=compile_condition) if kind == "workflow" else ()
    problems = [*(steps if isinstance(steps, list) else ()), *input_problems(spec)]
    return problems or steps


def define_workflow(
    spec: AgentRunSpec, *, compile_condition: ConditionCompiler
) -> tuple[RuntimeStep, ...] | list[Problem]:
    """The workflow steps, or all problems."""
    workflow = spec.workflow or Workflow(steps=[])
    if not workflow.steps:
        return [_STEPS.problem(Reason.MISSING_STEPS, "the workflow has no steps", "add at least one step")]
    first: dict[str, int] = {}
    for index, step in enumerate(workflow.steps):
        first.setdefault(step.name, index)
    problems: list[Problem] = []
    stages = []
    for index, step in enumerate(workflow.steps):
        place = Place(path=(*_STEPS.path, index), step=step.name, index=index)
        problems += name_problems(step.name, place, first, index)
        problems += _state_problems(step, step.workload or spec.workload, place)
        try:
            loop = _loop(step.loop, compile_condition) if step.loop else None
        except ValueError as error:
            problems.append(
                place.at("loop", "condition", "expression").problem(
                    Reason.INVALID_CONDITION,
                    str(error),
                    "write an expression that evaluates to true or false",
                )
            )
            continue
        stages.append(RuntimeStep(name=step.name, loop=loop))
    return problems or tuple(stages)


def _loop(spec: LoopSpec, compile_condition: ConditionCompiler) -> Loop:
    """Raises ValueError for a condition that cannot be compiled."""
    condition = spec.condition
    compiled: Condition | None = None
    if condition is not None and condition.expression:
        compiled = compile_condition(condition.expression)
    source = (condition.source if condition else None) or LoopSource()
    return Loop(
        max_iterations=spec.max_iterations,
        condition=compiled,
        needs_control=compiled is not None and CONTROL in compiled.source,
        stops_if_missing=source.on_missing != "fail",
        stops_if_invalid=source.on_invalid == "stop",
    )


def _state_problems(step: WorkflowStep, workload: Workload | None, place: Place) -> Iterator[Problem]:
    """What iterations share must outlive an iteration: a volume of its own claim."""
    state = step.loop.state if step.loop else None
    if state is None or not state.required:
        return
    volumes = {item.name: item for item in (workload.volumes if workload else None) or ()}
    here = place.at("loop", "state", "volumeNames")
    names = state.volume_names or [item.name for item in volumes.values() if item.type == "pvc"]
    if not names:
        yield here.problem(
            Reason.INVALID_VALUE,
            "no volume persists across iterations",
            "add a volume of type pvc with a claimName",
        )
    for name in names:
        volume = volumes.get(name)
        if volume is None:
            yield here.problem(
                Reason.INVALID_VALUE, f"the workload has no volume {name}", "name one that it has"
            )
        elif volume.type != "pvc" or not volume.claim_name:
            yield here.problem(
                Reason.INVALID_VALUE,
                f"volume {name} does not persist across iterations",
                "use type pvc with a claimName",
            )
