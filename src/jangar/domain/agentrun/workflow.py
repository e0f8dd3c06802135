"""The workflow of an AgentRun as a definition for the planner: a list of Jobs, one after another.

Knows how a workflow's steps become steps of a run; the planner knows no difference.
"""

from collections.abc import Mapping
from datetime import timedelta

from jangar.api.agents.agentrun import Workflow, WorkflowStep
from jangar.api.phases import ExecutionMode, OnJobMissing, StepKind
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.graph import graph_of, sequential_needs
from jangar.domain.orchestration.templates import Template
from jangar.domain.orchestration.validation_references import Place
from jangar.domain.orchestration.validation_steps import name_problems

_STEPS = Place(path=("spec", "workflow", "steps"))


def define_workflow(
    workflow: Workflow, *, on_job_missing: OnJobMissing | None = None, default_retries: int = 0
) -> Definition | list[Problem]:
    """The list ready to be planned, or everything that is wrong with it."""
    names = [step.name for step in workflow.steps]
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        first.setdefault(name, index)
    problems = [
        problem
        for index, name in enumerate(names)
        for problem in name_problems(name, _place(index, name), first, index)
    ]
    if not names:
        problems.append(
            _STEPS.problem(Reason.MISSING_STEPS, "the workflow has no steps", "add at least one step")
        )
    needs = sequential_needs(len(names))
    graph = graph_of(names, needs)
    if problems or graph is None:
        return problems
    policy = on_job_missing or OnJobMissing.FAIL
    steps = tuple(
        _step(step, index, needs[index], policy, default_retries) for index, step in enumerate(workflow.steps)
    )
    return Definition(mode=ExecutionMode.SEQUENTIAL, graph=graph, steps=steps)


def _place(index: int, name: str) -> Place:
    return Place(path=(*_STEPS.path, index), step=name, index=index)


def _step(
    step: WorkflowStep, index: int, needs: tuple[int, ...], policy: OnJobMissing, default_retries: int
) -> StepDefinition:
    return StepDefinition(
        index=index,
        name=step.name,
        kind=StepKind.JOB,
        needs=needs,
        retries=step.retries if step.retries is not None else default_retries,
        retry_backoff=timedelta(seconds=step.retry_backoff_seconds or 0),
        timeout=timedelta(seconds=step.timeout_seconds) if step.timeout_seconds else None,
        on_job_missing=policy,
        inputs=_literal(step.parameters or {}),
    )


def _literal(parameters: Mapping[str, str]) -> dict[str, Template]:
    """Parameters of a workflow's step are text as it stands; braces mean nothing in them."""
    return {name: Template(source=value, parts=(value,)) for name, value in parameters.items()}
