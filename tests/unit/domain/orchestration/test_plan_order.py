"""What starts when: lists, graphs, list order and places (DAG-1, DAG-4, DAG-8)."""

import pytest

from jangar.api.phases import ExecutionMode, StepKind
from jangar.domain.orchestration.planning.actions import StartChild
from jangar.domain.orchestration.planning.observation import Limits
from support.builders import NOON, a_definition, a_step, at
from support.run_driver import Driver

GATES = Limits(supported_kinds={StepKind.TOOL_RUN, StepKind.APPROVAL_GATE})


def a_gate(name, *needs, **fields):
    return {"name": name, "kind": "ApprovalGate", "policyRef": "p", "dependsOn": list(needs)} | fields


def a_list(*names, **fields):
    return a_definition(*(a_step(name, graph=False, **fields) for name in names))


@pytest.mark.rule("DAG-1")
def test_a_list_runs_one_step_after_another():
    """DAG-1: without dependsOn, in list order."""
    run = Driver(a_list("b", "a", "c"))
    run.tick()
    assert run.record.mode is ExecutionMode.SEQUENTIAL
    assert run.starts == ["b"]
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["a"]
    run.child("a").succeeds()
    run.tick(1)
    assert run.starts == ["c"]
    run.child("c").succeeds()
    run.tick(1)
    assert run.phase == "Succeeded/Succeeded"


@pytest.mark.rule("DAG-1")
def test_one_empty_depends_on_makes_a_graph_whose_other_steps_are_roots():
    """DAG-1: even `[]`; the mode is written to status when the run starts."""
    run = Driver(a_definition(a_step("a", graph=False), a_step("b"), a_step("c", graph=False)))
    run.tick()
    assert run.record.mode is ExecutionMode.GRAPH
    assert run.starts == ["a", "b", "c"]


@pytest.mark.rule("DAG-4")
def test_a_step_starts_when_each_of_its_dependencies_has_succeeded():
    """DAG-4: each, not any."""
    run = Driver(a_definition(a_step("a"), a_step("b"), a_step("c", "a", "b")))
    run.tick()
    run.child("a").succeeds()
    run.tick(1)
    assert run.starts == ["b"]
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["c"]


@pytest.mark.rule("DAG-4")
@pytest.mark.parametrize("graph", [True, False], ids=["graph", "list"])
def test_a_forgiven_failure_lets_its_dependents_start(graph):
    """DAG-4: Failed with continueOnFailure."""
    second = a_step("b", "a") if graph else a_step("b", graph=False)
    run = Driver(a_definition(a_step("a", graph=graph, continueOnFailure=True), second))
    run.tick()
    run.child("a").fails("NonZeroExit")
    run.tick(1)
    assert run.steps == {"a": "Failed/NonZeroExit", "b": "Pending/Starting"}
    assert run.starts == ["b"]


@pytest.mark.rule("DAG-8")
def test_the_first_plan_records_and_asks_in_list_order():
    """DAG-8: the whole of a plan, word by word."""
    run = Driver(a_definition(a_step("b"), a_step("a"), a_step("c", "a")), parameters={"x": "1"})
    plan = run.tick()
    assert plan.actions == (
        StartChild(
            step="b", kind=StepKind.TOOL_RUN, attempt=1, child=run.step("b").child, parameters={"x": "1"}
        ),
        StartChild(
            step="a", kind=StepKind.TOOL_RUN, attempt=1, child=run.step("a").child, parameters={"x": "1"}
        ),
    )
    assert plan.look_again_at is None
    assert [state.name for state in plan.status.steps] == ["b", "a", "c"]
    assert (run.phase, run.record.lifecycle.started_at) == ("Running/Running", NOON)


@pytest.mark.rule("DAG-8")
def test_a_start_is_requested_until_the_child_is_observed_and_then_never_again():
    """DAG-8: the same observation gives the same actions."""
    run = Driver(a_definition(a_step("a")))
    run.tick()
    run.tick(1)
    assert run.starts == ["a"]
    run.child("a").appears()
    run.tick(1)
    assert run.actions == ()
    assert run.steps == {"a": "Pending/Starting"}
    run.child("a").runs()
    run.tick(1)
    assert (run.actions, run.steps) == ((), {"a": "Running/Running"})


@pytest.mark.rule("DAG-8")
def test_times_are_cut_to_milliseconds():
    """DAG-8: what is read back is what was written."""
    run = Driver(a_definition(a_step("a")))
    run.tick(0.001999)
    assert run.step("a").started_at == at(0.001)


@pytest.mark.rule("DAG-8")
def test_places_are_given_in_list_order_and_freed_by_an_end():
    """DAG-8: maxParallel bounds steps with a live child."""
    run = Driver(
        a_definition(a_step("a"), a_step("b"), a_step("c"), a_step("d"), policies={"maxParallel": 2})
    )
    run.tick()
    assert run.starts == ["a", "b"]
    run.child("a").runs()
    run.child("b").runs()
    run.tick(1)
    assert run.actions == ()
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["c"]
    assert run.steps["d"] == "Pending/"
    run.child("a").fails()
    run.child("c").succeeds()
    run.tick(1)
    assert run.starts == ["d"]


@pytest.mark.rule("DAG-8")
def test_a_step_that_becomes_ready_later_goes_before_those_behind_it():
    """DAG-8: list order breaks ties, not the order of becoming ready."""
    run = Driver(
        a_definition(a_step("a"), a_step("b", "a"), a_step("c"), a_step("d"), policies={"maxParallel": 1})
    )
    run.tick()
    assert run.starts == ["a"]
    run.child("a").succeeds()
    run.tick(1)
    assert run.starts == ["b"]
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["c"]


@pytest.mark.rule("DAG-8")
def test_the_runs_own_bound_wins():
    """DAG-8: policies of a run override those of its definition."""
    policies = a_definition(a_step("x"), policies={"maxParallel": 0}).policies
    run = Driver(a_definition(a_step("a"), a_step("b"), policies={"maxParallel": 1}), policies=policies)
    run.tick()
    assert run.starts == ["a", "b"]


@pytest.mark.rule("DAG-8")
def test_a_step_waiting_to_retry_holds_no_place():
    """DAG-8: its place goes to the next one, and it waits for a place when its time has come."""
    run = Driver(
        a_definition(a_step("a", retries=1, retryBackoffSeconds=5), a_step("b"), policies={"maxParallel": 1})
    )
    run.tick()
    run.child("a").fails()
    run.tick(1)
    assert run.steps == {"a": "Retrying/ChildFailed", "b": "Pending/Starting"}
    assert run.look_again_at == at(6)
    run.child("b").runs()
    run.tick(5)
    assert (run.actions, run.look_again_at) == ((), None)
    run.child("b").succeeds()
    run.tick(1)
    assert run.starts == ["a"]
    assert run.step("a").attempt == 2


@pytest.mark.rule("DAG-8")
def test_a_due_retry_takes_its_turn_in_list_order():
    """DAG-8: neither before nor behind its place in the list."""
    retried = a_step("b", retries=2)
    run = Driver(a_definition(a_step("a"), retried, a_step("c"), policies={"maxParallel": 1}))
    run.tick()
    run.child("a").succeeds()
    run.tick(1)
    assert run.starts == ["b"]
    run.child("b").fails()
    run.tick(1)
    assert run.starts == ["b"], "the retry stands before c"
    late = Driver(
        a_definition(a_step("x"), a_step("a", "x"), a_step("b", retries=1), policies={"maxParallel": 2})
    )
    late.tick()
    assert late.starts == ["x", "b"]
    late.child("x").succeeds()
    late.child("b").fails()
    late.change(policies=a_definition(a_step("x"), policies={"maxParallel": 1}).policies)
    late.tick(1)
    assert late.starts == ["a"], "a stands before the retry of b"


@pytest.mark.rule("DAG-8")
def test_a_gate_holds_no_place_and_waits_for_none():
    """DAG-8: a step at a gate holds no place."""
    run = Driver(
        a_definition(a_step("a"), a_gate("g"), a_step("b"), a_gate("h"), policies={"maxParallel": 1}),
        limits=GATES,
    )
    run.tick()
    assert run.starts == ["a", "g", "h"]
    run.child("a").succeeds()
    run.child("g").runs()
    run.tick(1)
    assert run.starts == ["b", "h"]


@pytest.mark.rule("DAG-8")
def test_the_retry_of_a_gate_waits_for_no_place_either():
    """DAG-8: maxParallel bounds steps with a live child, and a gate has none."""
    run = Driver(a_definition(a_step("a"), a_gate("g", retries=1), policies={"maxParallel": 1}), limits=GATES)
    run.tick()
    run.child("a").runs()
    run.child("g").fails("Denied")
    run.tick(1)
    assert run.starts == ["g"]
    assert run.step("g").attempt == 2


@pytest.mark.rule("DAG-8")
def test_gates_that_wait_and_gates_that_retry_start_together():
    """DAG-8: neither keeps the other from starting."""
    run = Driver(a_definition(a_gate("g", retries=1), a_gate("h", "a"), a_step("a")), limits=GATES)
    run.tick()
    run.child("g").fails("Denied")
    run.child("a").succeeds()
    run.tick(1)
    assert run.starts == ["g", "h"]


@pytest.mark.rule("DAG-8")
def test_a_start_that_fails_gives_its_place_to_the_next_step():
    """DAG-8: within the same pass, so nothing hangs."""
    broken = a_step("a", **{"with": {"k": "{{ parameters.x }}"}})
    run = Driver(a_definition(broken, a_step("b"), a_step("c"), policies={"maxParallel": 1}))
    run.tick()
    assert run.steps == {"a": "Failed/MissingInput", "b": "Pending/Starting", "c": "Pending/"}


@pytest.mark.rule("DAG-8")
def test_a_forgiven_failed_start_releases_its_dependents_in_the_same_pass():
    """DAG-4, DAG-8: a pass leaves nothing to the next one that follows from what is known."""
    broken = a_step("a", continueOnFailure=True, **{"with": {"k": "{{ parameters.x }}"}})
    run = Driver(a_definition(broken, a_step("b", "a"), a_step("c", "b")))
    run.tick()
    assert run.steps == {"a": "Failed/MissingInput", "b": "Pending/Starting", "c": "Pending/"}


@pytest.mark.rule("DAG-8")
def test_many_independent_steps_start_in_list_order():
    """DAG-8: neither a heap nor a set changes the order."""
    names = [f"s{index}" for index in range(100)]
    run = Driver(a_definition(*map(a_step, names)))
    run.tick()
    assert run.starts == names
