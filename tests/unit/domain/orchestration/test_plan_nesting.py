"""Runs inside runs (DAG-8, DAG-13)."""

import pytest

from jangar.api.phases import StepKind
from jangar.domain.cancellation import Requester
from jangar.domain.orchestration.planning.actions import StartChild
from jangar.domain.orchestration.planning.observation import ChildrenRead, Limits
from support.builders import a_definition, a_step, at
from support.run_driver import Driver


def a_nested(name, target, *needs, **fields):
    return {
        "name": name,
        "kind": "SubOrchestration",
        "orchestrationRef": {"name": target},
        "dependsOn": list(needs),
    } | fields


@pytest.mark.rule("DAG-13")
def test_a_nested_run_is_a_child_like_any_other():
    """DAG-13: its outputs flow to the parent, and a finished nested run moves its parent at once."""
    run = Driver(
        a_definition(
            a_nested("inner", "build"),
            a_step("b", "inner", **{"with": {"k": "{{ steps.inner.outputs.image }}"}}),
        ),
        lineage=("nightly",),
    )
    run.tick()
    assert run.actions == (
        StartChild(
            step="inner",
            kind=StepKind.SUB_ORCHESTRATION,
            attempt=1,
            child=run.step("inner").child,
            parameters={},
        ),
    )
    run.child("inner").succeeds(image="nginx")
    run.tick(1)
    assert run.starts == ["b"]
    assert run.actions[0].parameters == {"k": "nginx"}


@pytest.mark.rule("DAG-13")
@pytest.mark.parametrize(
    ("lineage", "way"),
    [
        pytest.param(("nightly",), "nightly -> nightly", id="itself"),
        pytest.param(("nightly", "build"), "nightly -> build -> nightly", id="through-another"),
    ],
)
def test_a_run_that_would_contain_itself_is_refused_at_the_nested_create(lineage, way):
    """DAG-13: RecursiveOrchestration, and no retry helps."""
    run = Driver(a_definition(a_nested("again", "nightly", retries=3)), lineage=lineage)
    run.tick()
    assert (run.steps, run.actions) == ({"again": "Failed/RecursiveOrchestration"}, ())
    assert run.step("again").message == f"the orchestration would contain itself: {way}"
    assert run.phase == "Failed/StepFailed"


@pytest.mark.rule("DAG-13")
@pytest.mark.parametrize(
    ("depth", "expected"),
    [pytest.param(3, "Pending/Starting", id="at"), pytest.param(2, "Failed/NestingTooDeep", id="over")],
)
def test_depth_is_bounded(depth, expected):
    """DAG-13: depth is bounded."""
    run = Driver(a_definition(a_nested("inner", "c")), lineage=("a", "b"), limits=Limits(max_depth=depth))
    run.tick()
    assert run.steps == {"inner": expected}


@pytest.mark.rule("DAG-13")
def test_by_default_ten_runs_may_be_inside_each_other():
    """DAG-13: the operator's limit."""
    names = tuple(f"o{index}" for index in range(9))
    assert Driver(a_definition(a_nested("inner", "c")), lineage=names).tick().actions
    deep = Driver(a_definition(a_nested("inner", "c")), lineage=(*names, "o9"))
    deep.tick()
    assert deep.step("inner").message == "orchestrations are nested more than 10 levels deep"


@pytest.mark.rule("DAG-8")
def test_a_nested_run_counts_as_one_place():
    """DAG-8: and has its own bound."""
    run = Driver(
        a_definition(a_nested("inner", "build"), a_step("b"), policies={"maxParallel": 1}),
        lineage=("nightly",),
    )
    run.tick()
    assert run.starts == ["inner"]
    run.child("inner").runs()
    run.tick(1)
    assert run.steps["b"] == "Pending/"
    run.child("inner").succeeds()
    run.tick(1)
    assert run.starts == ["b"]


@pytest.mark.rule("CAN-6")
def test_each_level_is_given_two_seconds_less():
    """CAN-6: passed down as an absolute deadline, a child's 2 s before its parent's."""
    run = Driver(a_definition(a_nested("inner", "build")), lineage=("nightly",), stop_deadline=at(40))
    run.tick()
    run.child("inner").runs()
    run.cancel()
    run.tick(1)
    assert run.record.cancel.deadline == at(40)
    assert run.actions[0].deadline == at(38)


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(
    ("limit", "total", "step"),
    [
        pytest.param(9, 0, "Failed/StepTimedOut", id="stopped-for-its-own-limit"),
        pytest.param(0, 9, "Failed/RunTimedOut", id="stopped-for-the-runs-limit"),
    ],
)
def test_a_parents_deadline_bounds_what_was_being_stopped_already(limit, total, step):
    """CAN-6: the parent waits no longer than it said, whatever else stopped the step."""
    policies = {"timeouts": {"totalSeconds": total}}
    run = Driver(a_definition(a_step("a", timeoutSeconds=limit), policies=policies))
    run.tick()
    run.child("a").runs()
    run.tick(9)
    assert run.look_again_at == at(69)
    run.change(stop_deadline=at(40))
    run.cancel(Requester.OWNER)
    run.tick(1)
    run.children_read = ChildrenRead.AFTER_CANCEL
    assert run.look_again_at == at(40)
    run.tick(29.999)
    assert run.steps["a"] == "Running/Stopping"
    run.tick(0.001)
    assert (run.steps["a"], run.look_again_at) == (step, at(50))


@pytest.mark.rule("CAN-6")
def test_a_parents_deadline_bounds_a_run_that_was_cancelled_by_hand():
    """CAN-6: the earlier of both deadlines counts, for the run and for its steps."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.child("a").runs()
    run.cancel()
    run.tick()
    assert run.look_again_at == at(60)
    run.change(stop_deadline=at(40))
    run.cancel(Requester.OWNER)
    run.tick(1)
    assert (run.record.cancel.deadline, run.step("a").stop.deadline) == (at(40), at(40))
    assert run.look_again_at == at(40)
