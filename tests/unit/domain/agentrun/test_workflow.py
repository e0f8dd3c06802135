"""The workflow of an AgentRun is planned like any other list of steps."""

import pytest

from jangar.api.agents.agentrun import Workflow
from jangar.api.phases import ExecutionMode, OnJobMissing, Phase, StepKind, StepPhase
from jangar.api.reasons import Reason
from jangar.domain.agentrun.workflow import define_workflow
from jangar.domain.orchestration.actions import StartChild
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.plan import plan
from support.builders import a_child, an_observation, at


def a_workflow(*steps):
    return Workflow.model_validate({"steps": list(steps)})


def defined(*steps, **options):
    found = define_workflow(a_workflow(*steps), **options)
    assert isinstance(found, Definition)
    return found


@pytest.mark.rule("DAG-1")
def test_a_workflow_is_a_list_of_jobs():
    """Each step needs the one before it, and its child is a Job."""
    definition = defined({"name": "plan"}, {"name": "code"}, {"name": "test"})
    assert definition.mode is ExecutionMode.SEQUENTIAL
    assert definition.graph.needs == ((), (0,), (1,))
    assert {step.kind for step in definition.steps} == {StepKind.JOB}


def test_a_workflow_goes_through_the_planner_step_by_step():
    """The second Job starts when the first has succeeded, with the parameters of its step as they stand."""
    definition = defined({"name": "plan"}, {"name": "code", "parameters": {"stage": "{{ not.a.template }}"}})
    first = plan(an_observation(definition), at(0))
    [start] = first.actions
    assert (start.step, start.kind, start.attempt) == ("plan", StepKind.JOB, 1)
    done = a_child(start.child, Phase.SUCCEEDED, finished_at=at(5))
    second = plan(an_observation(definition, recorded=first.status, children=[done]), at(5))
    [start] = second.actions
    assert isinstance(start, StartChild)
    assert (start.step, start.parameters) == ("code", {"stage": "{{ not.a.template }}"})
    assert [state.phase for state in second.status.steps] == [StepPhase.SUCCEEDED, StepPhase.PENDING]


def test_retries_and_timeouts_of_a_workflow_step_are_the_planners():
    """A step's own retries win over the agent's default; 0 seconds is no limit."""
    definition = defined(
        {"name": "a", "retries": 0, "timeoutSeconds": 0},
        {"name": "b", "retryBackoffSeconds": 7, "timeoutSeconds": 60},
        default_retries=3,
        on_job_missing=OnJobMissing.RETRY,
    )
    first, second = definition.steps
    assert (first.retries, first.timeout, first.on_job_missing) == (0, None, OnJobMissing.RETRY)
    assert (second.retries, second.retry_backoff.seconds, second.timeout.seconds) == (3, 7, 60)
    assert defined({"name": "a"}).steps[0].on_job_missing is OnJobMissing.FAIL


def test_all_mistakes_of_a_workflow_are_told_at_once():
    """Names are checked as those of an orchestration's steps are."""
    problems = define_workflow(a_workflow({"name": "a"}, {"name": "-"}, {"name": "a"}))
    assert [(problem.reason, problem.field, problem.step) for problem in problems] == [
        (Reason.INVALID_STEP_NAME, "spec.workflow.steps[1].name", "-"),
        (Reason.DUPLICATE_STEP, "spec.workflow.steps[2].name", "a"),
    ]


def test_an_empty_workflow_is_refused():
    """There must be something to do."""
    [problem] = define_workflow(a_workflow())
    assert (problem.reason, problem.field, problem.fix) == (
        Reason.MISSING_STEPS,
        "spec.workflow.steps",
        "add at least one step",
    )
