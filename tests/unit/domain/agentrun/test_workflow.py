"""The workflow of an AgentRun as the course of its work."""

import pytest

from jangar.api.agents.agentrun import AgentRunSpec
from jangar.api.reasons import Reason
from jangar.domain.agentrun.workflow import CONTROL_PATH, StepPosition, define_workflow
from jangar.domain.job_execution.workflow import Continue, LoopDone, RuntimeStep, after_iteration
from jangar.lint.conditions import compile_loop

CLAIM = {"type": "pvc", "name": "state", "mountPath": "/state", "claimName": "kept"}
SCRATCH = {"type": "emptyDir", "name": "scratch", "mountPath": "/scratch"}


def a_run(*steps, **spec):
    given = {
        "agentRef": {"name": "a"},
        "runtime": {"type": "workflow"},
        "implementation": {"inline": {"text": "do"}},
        "workflow": {"steps": list(steps)},
    }
    return AgentRunSpec.model_validate(given | spec)


def defined(*steps, **spec):
    return define_workflow(a_run(*steps, **spec), compile_condition=compile_loop)


@pytest.mark.rule("DAG-1")
def test_a_workflow_is_a_list_of_stages():
    """In the order in which they are written."""
    assert defined({"name": "plan"}, {"name": "code"}) == (
        RuntimeStep(name="plan"),
        RuntimeStep(name="code"),
    )


def test_all_mistakes_of_a_workflow_are_reported_at_once():
    """Names are checked as those of an orchestration's steps are."""
    problems = defined({"name": "a"}, {"name": "-"}, {"name": "a"})
    assert [(problem.reason, problem.field, problem.step) for problem in problems] == [
        (Reason.INVALID_STEP_NAME, "spec.workflow.steps[1].name", "-"),
        (Reason.DUPLICATE_STEP, "spec.workflow.steps[2].name", "a"),
    ]


def test_an_empty_workflow_is_refused():
    """There must be something to do."""
    for found in (defined(), defined(workflow=None)):
        assert [(item.reason, item.fix) for item in found] == [
            (Reason.MISSING_STEPS, "add at least one step")
        ]


def loop_of(**loop):
    (stage,) = defined({"name": "a", "loop": {"maxIterations": 9, **loop}})
    return stage.loop


def test_a_condition_is_cel_over_the_iteration():
    """Its number, the bound, how the last one ended and what it wrote."""
    loop = loop_of(condition={"expression": "iteration.index < 3 && iteration.last.phase == 'Succeeded'"})
    assert not loop.needs_control
    assert isinstance(after_iteration(loop, 2, None), Continue)
    assert isinstance(after_iteration(loop, 3, None), LoopDone)
    scored = loop_of(condition={"expression": "iteration.last.control.score < 0.9"})
    assert scored.needs_control
    assert isinstance(after_iteration(scored, 1, {"control": {"score": 0.5}}), Continue)
    assert isinstance(after_iteration(scored, 1, {"control": {"score": 0.95}}), LoopDone)


def test_what_to_do_without_the_file_is_the_loops_own_choice():
    """It stops where there is none and fails where it cannot be read, unless configured otherwise."""
    expression = {"expression": "iteration.last.control.more"}
    usual = loop_of(condition=expression)
    assert (usual.stops_if_missing, usual.stops_if_invalid) == (True, False)
    other = loop_of(condition={**expression, "source": {"onMissing": "fail", "onInvalid": "stop"}})
    assert (other.stops_if_missing, other.stops_if_invalid) == (False, True)


def test_a_condition_that_is_none_is_refused_with_its_place():
    """The message says what is wrong."""
    for expression in ("iteration.", "'text'", "steps.a.phase == 'x'"):
        (problem,) = defined(
            {"name": "a", "loop": {"maxIterations": 2, "condition": {"expression": expression}}}
        )
        assert problem.reason == Reason.INVALID_CONDITION
        assert problem.field == "spec.workflow.steps[0].loop.condition.expression"


@pytest.mark.parametrize(
    ("state", "workload", "words"),
    [
        pytest.param({"required": True}, {"volumes": [CLAIM]}, None, id="a-claim-is-enough"),
        pytest.param({"required": True}, {}, "no volume persists", id="none"),
        pytest.param(
            {"required": True, "volumeNames": ["scratch"]},
            {"volumes": [SCRATCH]},
            "does not persist",
            id="scratch",
        ),
        pytest.param(
            {"required": True, "volumeNames": ["x"]}, {"volumes": [CLAIM]}, "no volume x", id="unknown"
        ),
        pytest.param({"volumeNames": ["x"]}, {}, None, id="not-required"),
    ],
)
def test_state_that_is_required_must_outlive_an_iteration(state, workload, words):
    """A claim does, a scratch directory does not."""
    found = defined({"name": "a", "loop": {"maxIterations": 2, "state": state}}, workload=workload)
    if words is None:
        assert isinstance(found, tuple)
    else:
        assert words in found[0].message


def test_the_file_that_a_condition_looks_at():
    """The loop's own, else the default; none if the loop has no condition."""
    plain, looped, own = a_run(
        {"name": "a"},
        {"name": "b", "loop": {"maxIterations": 2, "condition": {"expression": "true"}}},
        {
            "name": "c",
            "loop": {"maxIterations": 2, "condition": {"expression": "true", "source": {"path": "x.json"}}},
        },
    ).workflow.steps
    assert StepPosition(step=plain, index=0).control_path is None
    assert StepPosition(step=looped, index=1).control_path == CONTROL_PATH
    assert StepPosition(step=own, index=2).control_path == "x.json"
